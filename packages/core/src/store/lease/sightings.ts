import type { Clock } from '../../contracts/clock.js'

const MAX_SIGHTINGS = 10_000

/** Remembers since when each key has been seen in the same condition, across calls, by a clock of our own. */
export class Sightings {
  readonly #clock: Clock
  readonly #seen = new Map<string, { readonly condition: string; readonly sinceMs: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** For how long, in ms, `key` has been in this condition; 0 when that is new. */
  durationMs(key: string, condition: string): number {
    const nowMs = this.#clock.monotonicMs()
    const seen = this.#seen.get(key)
    if (seen?.condition === condition) return nowMs - seen.sinceMs
    this.#seen.delete(key)
    this.#seen.set(key, { condition, sinceMs: nowMs })
    if (this.#seen.size > MAX_SIGHTINGS) this.#forgetOldest()
    return 0
  }

  #forgetOldest(): void {
    for (const key of this.#seen.keys()) {
      this.#seen.delete(key)
      return
    }
  }
}
