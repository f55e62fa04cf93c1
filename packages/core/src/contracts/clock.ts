/**
 * Time, as far as Cofferdam decides anything by it. A host takes a clock so that tests can turn the hands.
 *
 * `nowMs` may jump (NTP, a user, a resumed machine): it is for timestamps that other hosts read. `monotonicMs` never goes
 * back and keeps counting while the event loop is blocked: every lease, deadline and duration is measured with it.
 */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  nowMs(): number
  /** Milliseconds since an arbitrary moment, never decreasing. */
  monotonicMs(): number
}
