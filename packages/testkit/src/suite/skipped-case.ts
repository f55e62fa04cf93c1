/** Thrown by a case that finds what it works with missing in the sandbox: not asked, and no failure. */
export class SkippedCase extends Error {
  override readonly name = 'SkippedCase'
}
