/**
 * One clause of a contract as a program: it sets up what it needs through `context`, and throws when the clause does not
 * hold. Cases share nothing: each gets a context of its own.
 */
export interface ConformanceCase<Context> {
  /** Stable, for reports and to run it alone: `state.cas.stale`. */
  readonly id: string
  /** Stable number of the clause in the contract: `STATE-4`. */
  readonly clause: string
  /** What holds, as a sentence without a subject. */
  readonly title: string
  /**
   * `MUST`: without it core does not keep its promises. `SHOULD`: core copes without, and users see it; a failure that is
   * listed as known is no blemish there. Both fail a run when they are not listed.
   */
  readonly level: 'MUST' | 'SHOULD' | 'MAY'
  readonly profile: string
  run(context: Context): Promise<void>
}
