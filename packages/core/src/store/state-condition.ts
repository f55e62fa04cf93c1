import { SandboxError } from '../errors/sandbox-error.js'

/** Throws `state_conflict` unless what is there (null: nothing) is what the caller expects. */
export function checkCondition(key: string, expected: string | null, actual: string | null): void {
  if (expected === actual) return
  const found = actual === null ? 'nothing is there' : `it has version ${actual}`
  const wanted = expected === null ? 'nothing was to be there' : `version ${expected} was expected`
  throw new SandboxError('state_conflict', `The state of ${key} was changed by somebody else: ${wanted}, ${found}.`, {
    key,
    expected,
    actual,
  })
}
