/**
 * The argument for utimes and its like, from nanoseconds. Node takes seconds as a double and cuts to microseconds, and a
 * double of today's seconds is exact to a quarter of one; half a microsecond on top makes the cut hit the right one. So
 * times are exact to the microsecond, and the rest is lost.
 */
export function toSeconds(timeNs: bigint): number {
  const microseconds = timeNs / 1000n - (timeNs < 0n && timeNs % 1000n !== 0n ? 1n : 0n)
  return (Number(microseconds) + 0.5) / 1e6
}
