import type { ConformanceCase } from './conformance-case.js'

/** What a case of a store gets: as many objects on one empty storage as it asks for. */
export interface OpenStore<T> {
  open(): Promise<T>
}

export type StoreCase<T> = ConformanceCase<OpenStore<T>>

/** One line per case: `[clause, id, title, run]`. All of them are MUST. */
export type CaseRow<T> = readonly [clause: string, id: string, title: string, run: StoreCase<T>['run']]

export function casesFrom<T>(profile: string, rows: ReadonlyArray<CaseRow<T>>): ReadonlyArray<StoreCase<T>> {
  return rows.map(([clause, id, title, run]) => ({ clause, id, title, level: 'MUST', profile, run }))
}
