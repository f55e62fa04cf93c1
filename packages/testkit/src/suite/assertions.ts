import { isSandboxError } from '@cofferdam/core/plugin'
import type { SandboxErrorCode } from '@cofferdam/core/plugin'
import { inspect } from 'node:util'

/** A clause that does not hold: what was looked at, what the contract says, and what was there instead. */
export class ConformanceFailure extends Error {
  override readonly name = 'ConformanceFailure'
  readonly expected: unknown
  readonly actual: unknown

  constructor(what: string, expected: unknown, seen: unknown, cause?: unknown) {
    super(
      `${what}\n  expected: ${show(expected)}\n  seen:     ${show(seen)}`,
      cause === undefined ? undefined : { cause },
    )
    this.expected = expected
    this.actual = seen
  }
}

/** Equal by value, with `Object.is` for what is no object. */
export function assertEqual(seen: unknown, expected: unknown, what: string): void {
  if (!isEqual(seen, expected)) throw new ConformanceFailure(what, expected, seen)
}

export function assertTrue(seen: boolean, what: string): void {
  if (!seen) throw new ConformanceFailure(what, true, false)
}

export function assertIncludes(seen: string, part: string, what: string): void {
  if (!seen.includes(part)) throw new ConformanceFailure(what, `text with ${show(part)}`, seen)
}

/** Bytes, with the first that differs in the message instead of all of them. */
export function assertBytes(seen: Uint8Array, expected: Uint8Array, what: string): void {
  if (seen.length !== expected.length) throw new ConformanceFailure(`${what}: length`, expected.length, seen.length)
  const at = seen.findIndex((byte, index) => byte !== expected[index])
  if (at >= 0) throw new ConformanceFailure(`${what}: byte ${at}`, expected[at], seen[at])
}

/** The call fails with this code, or one of these where the contract leaves the choice. */
export async function assertCode(
  call: Promise<unknown>,
  codes: SandboxErrorCode | readonly SandboxErrorCode[],
  what: string,
): Promise<void> {
  const allowed = typeof codes === 'string' ? [codes] : codes
  let result: unknown
  try {
    result = await call
  } catch (error) {
    if (isSandboxError(error) && allowed.includes(error.code)) return
    const seen = isSandboxError(error) ? `${error.code}: ${error.message}` : error
    throw new ConformanceFailure(what, `SandboxError ${allowed.join(' or ')}`, seen, error)
  }
  throw new ConformanceFailure(what, `SandboxError ${allowed.join(' or ')}`, `success with ${show(result)}`)
}

/** The iteration fails with this code, at once or on the way. */
export async function assertIterationCode(
  items: AsyncIterable<unknown>,
  code: SandboxErrorCode,
  what: string,
): Promise<void> {
  const drain = async (): Promise<number> => {
    let count = 0
    for await (const _item of items) count++
    return count
  }
  await assertCode(drain(), code, what)
}

function show(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : inspect(value, { depth: 4, breakLength: 100 })
  return text.length > 600 ? `${text.slice(0, 600)}… (${text.length} characters)` : text
}

function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const [left, right] = [Object.entries(a), Object.entries(b)]
  return (
    left.length === right.length &&
    left.every(([key, value]) => Object.hasOwn(b, key) && isEqual(value, (b as Record<string, unknown>)[key]))
  )
}
