import type { Figure } from './measure.js'

/** One thing to measure, with what it is measured against. */
export interface Benchmark {
  readonly name: string
  measure(): Promise<readonly Figure[]>
}
