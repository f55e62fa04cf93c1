import type { BackendFeatures } from '@cofferdam/core/plugin'
import type { BackendContext } from './backend-context.js'
import type { ConformanceCase } from './conformance-case.js'

/** True, or why a backend with these features is not asked. */
export type Needs = (features: BackendFeatures) => true | string

export interface BackendCase extends ConformanceCase<BackendContext> {
  readonly needs?: Needs
}

/** One line per case: `[clause, id, title, run, needs?]`. */
export type BackendRow = readonly [clause: string, id: string, title: string, run: BackendCase['run'], needs?: Needs]

/** Their ids begin with the profile. */
export function backendCases(
  profile: string,
  rows: readonly BackendRow[],
  level: BackendCase['level'] = 'MUST',
): readonly BackendCase[] {
  return rows.map(([clause, id, title, run, needs]) => ({
    clause,
    id: `${profile}.${id}`,
    title,
    level,
    profile,
    run,
    ...(needs === undefined ? {} : { needs }),
  }))
}

type Flag = { [K in keyof BackendFeatures]: BackendFeatures[K] extends boolean ? K : never }[keyof BackendFeatures]

/** The feature is declared. */
export function needs(flag: Flag): Needs {
  return (features) => features[flag] || `features.${flag} is false`
}

/** The feature is declared false, and the case shows that it is refused. */
export function lacks(flag: Flag): Needs {
  return (features) => !features[flag] || `features.${flag} is true`
}

export const needsProvenKill: Needs = (features) =>
  features.killTree === 'proven' || "features.killTree is 'best-effort'"
