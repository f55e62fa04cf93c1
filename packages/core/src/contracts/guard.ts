/**
 * Mutual exclusion on slots, with leases that end by themselves when their holder does.
 *
 * A guard alone does not protect what a slot holds: a holder may be stopped for longer than its lease and wake up. The
 * record does that, by fence and compare-and-set. The guard keeps two hosts from working for nothing.
 */
export interface ExecutionGuard extends AsyncDisposable {
  /** Among whom it excludes: this process, all processes of this machine, or all hosts that use the same service. */
  readonly reach: 'process' | 'machine' | 'cluster'
  /**
   * Waits for the key, in order of arrival where it can. Throws `lease_timeout` after `waitMs`, `aborted`,
   * `store_unavailable`, `invalid_argument`.
   */
  enter(key: string, options?: EnterOptions): Promise<Lease>
}

export interface EnterOptions {
  /** 0 tries once. Default: no bound; use `signal`. */
  readonly waitMs?: number
  /** How long the lease outlives the last sign of life. Default 60 000, at least 1 000. Renewed at a third of it. */
  readonly ttlMs?: number
  readonly signal?: AbortSignal
}

/** A held key. Disposal releases it. */
export interface Lease extends AsyncDisposable {
  readonly key: string
  /** Greater than every earlier holder's for this key, for as long as the guard's storage lives. */
  readonly fence: bigint
  /**
   * Judged by the monotonic clock against the start of the last renewal that succeeded plus the lease's time less a
   * margin: true is proof that nobody else holds the key, also when the event loop or the whole process stood still.
   * Called right before every commit and delete. False for ever once it was false.
   */
  held(): boolean
  /** Fires when `held` turns false, as soon as the event loop allows; also on release. */
  readonly lost: AbortSignal
  /** Idempotent, never throws. */
  release(): Promise<void>
}
