import type { Clock } from '../../contracts/clock.js'
import { BoundedCache } from '../register/bounded-cache.js'

const MAX_SIGHTINGS = 10_000

/** Remembers since when each key has been seen in the same condition, across calls, by a clock of our own. */
export class Sightings {
  readonly #clock: Clock
  readonly #seen = new BoundedCache<{ readonly condition: string; readonly sinceMs: number }>(MAX_SIGHTINGS)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** For how long, in ms, `key` has been in this condition; 0 when that is new. */
  durationMs(key: string, condition: string): number {
    const nowMs = this.#clock.monotonicMs()
    const seen = this.#seen.get(key)
    if (seen?.condition === condition) return nowMs - seen.sinceMs
    this.#seen.set(key, { condition, sinceMs: nowMs })
    return 0
  }
}
