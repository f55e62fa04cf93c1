import { SandboxError } from '../../errors/sandbox-error.js'
import type { Clock } from '../../contracts/clock.js'
import type { Lease } from '../../contracts/guard.js'

export interface HeldLeaseOptions {
  readonly key: string
  readonly fence: bigint
  readonly ttlMs: number
  /** By the clock, before the write that granted the lease began. */
  readonly grantedAtMs: number
  readonly clock: Clock
  /** One sign of life, begun at the given time; false when the lease is somebody else's. Throws when it cannot tell. */
  readonly renew: (startedAtMs: number) => Promise<boolean>
  /** Gives the key back, if it is still ours. */
  readonly giveBack: () => Promise<void>
}

/** The part of the time to live in which the holder no longer believes in the lease while the others still do. */
const MARGIN = 0.1

/** A lease that is renewed at a third of its time, and counts as lost when that did not succeed in time. */
export class HeldLease implements Lease {
  readonly key: string
  readonly fence: bigint
  readonly #options: HeldLeaseOptions
  readonly #lost = new AbortController()
  #deadlineMs: number
  #renewal: NodeJS.Timeout | undefined
  #end: NodeJS.Timeout | undefined
  #renewing: Promise<void> = Promise.resolve()
  #ended: Promise<void> | undefined

  constructor(options: HeldLeaseOptions) {
    this.key = options.key
    this.fence = options.fence
    this.#options = options
    this.#deadlineMs = this.#deadlineAfter(options.grantedAtMs)
    this.#watchDeadline()
    this.#renewIn(options.ttlMs / 3)
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  held(): boolean {
    if (this.#ended === undefined && this.#options.clock.monotonicMs() >= this.#deadlineMs) {
      this.#finish('it was not renewed in time')
    }
    return this.#ended === undefined
  }

  async release(): Promise<void> {
    this.#finish('it was released')
    await this.#ended
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release()
  }

  #deadlineAfter(startedAtMs: number): number {
    return startedAtMs + this.#options.ttlMs * (1 - MARGIN)
  }

  /** From here on `held` is false for ever; only then is the key given back. */
  #finish(reason: string): void {
    if (this.#ended !== undefined) return
    clearTimeout(this.#renewal)
    clearTimeout(this.#end)
    // A renewal under way must have ended, or it would be the last word.
    this.#ended = this.#renewing.then(() => this.#options.giveBack()).catch(() => undefined)
    const { key } = this
    this.#lost.abort(new SandboxError('lease_lost', `The lease for ${key} is no longer held: ${reason}.`, { key }))
  }

  #watchDeadline(): void {
    clearTimeout(this.#end)
    const leftMs = this.#deadlineMs - this.#options.clock.monotonicMs()
    this.#end = setTimeout(() => this.held() && this.#watchDeadline(), Math.max(leftMs, 1)).unref()
  }

  #renewIn(delayMs: number): void {
    this.#renewal = setTimeout(() => {
      if (this.held()) this.#renewing = this.#renew()
    }, delayMs).unref()
  }

  async #renew(): Promise<void> {
    const { clock, renew, ttlMs } = this.#options
    const startedAtMs = clock.monotonicMs()
    try {
      if (!(await renew(startedAtMs))) return this.#finish('somebody else holds it')
      if (this.#ended !== undefined) return
      this.#deadlineMs = this.#deadlineAfter(startedAtMs)
      this.#watchDeadline()
      this.#renewIn(ttlMs / 3)
    } catch {
      // The storage did not answer: again soon, until the time is over.
      if (this.#ended === undefined) this.#renewIn(ttlMs / 10)
    }
  }
}
