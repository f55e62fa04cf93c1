import type { Clock } from '../contracts/clock.js'
import type { RecordKeeper } from './record-keeper.js'

/**
 * Signs of life of all slots of a host, for holders that the guard does not reach: one timer renews the expiry in their
 * records. Not needed, and not started, for a guard that reaches the whole cluster.
 */
export class Heartbeat {
  readonly #keepers = new Set<RecordKeeper>()
  readonly #clock: Clock
  readonly #ttlMs: number
  readonly #enabled: boolean
  #timer: NodeJS.Timeout | undefined

  constructor(clock: Clock, ttlMs: number, enabled: boolean) {
    this.#clock = clock
    this.#ttlMs = ttlMs
    this.#enabled = enabled
  }

  /** When a record written now has to be renewed at the latest. */
  expiresAtMs(): number {
    return Math.round(this.#clock.nowMs() + this.#ttlMs)
  }

  add(keeper: RecordKeeper): void {
    this.#keepers.add(keeper)
    if (!this.#enabled || this.#timer !== undefined) return
    this.#timer = setInterval(() => this.#beat(), this.#ttlMs / 3)
    this.#timer.unref()
  }

  remove(keeper: RecordKeeper): void {
    this.#keepers.delete(keeper)
    if (this.#keepers.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #beat(): void {
    for (const keeper of this.#keepers) {
      // A failure shows at the session's next write, or at a claim after the expiry: nothing to do about it here.
      keeper.write((record) => ({ ...record, expiresAtMs: this.expiresAtMs() })).catch(() => undefined)
    }
  }
}
