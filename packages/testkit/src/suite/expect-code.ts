import { AssertionError } from 'node:assert'

const BRAND = Symbol.for('@cofferdam/core/SandboxError')

/**
 * Awaits the failure of `task` with that code and gives its details. The error is known by its brand, as everywhere, so
 * that any copy of core will do.
 */
export async function expectCode(task: Promise<unknown>, code: string): Promise<Record<string, unknown>> {
  let error: unknown
  try {
    await task
  } catch (thrown) {
    error = thrown
  }
  const isOurs = typeof error === 'object' && error !== null && BRAND in error
  const { code: actual, details } = (isOurs ? error : {}) as { code?: string; details?: Record<string, unknown> }
  if (actual === code) return details ?? {}
  throw new AssertionError({
    message: `expected a SandboxError '${code}', got ${error === undefined ? 'no failure' : String(error)}`,
    actual: actual ?? error,
    expected: code,
  })
}
