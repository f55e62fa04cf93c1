import type { JsonValue } from '../errors/error-details.js'

/** One call on a state store, with the time in which it happened. */
export interface RegisterOperation {
  readonly key: string
  readonly action: 'get' | 'put' | 'delete'
  readonly start: number
  readonly end: number
  /** The condition; missing: none. */
  readonly expected?: string | null
  readonly conflict?: boolean
  /** get: what was there; put: what was written; conflict: what was found instead. null is nothing. */
  readonly version?: string | null
  readonly value?: JsonValue
}

/**
 * Whether the calls of several clients on one key can be put in one order, consistent with when they happened, in which
 * each gives what a single register would give (after Wing and Gong). Each client's calls follow one another.
 */
export function isLinearizable(clients: ReadonlyArray<readonly RegisterOperation[]>): boolean {
  const seen = new Set<string>()
  const pending: Array<{ readonly at: readonly number[]; readonly version: string | null }> = [
    { at: clients.map(() => 0), version: null },
  ]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    const { at, version } = node
    const next = clients.map((operations, client) => operations[at[client] ?? 0])
    if (next.every((operation) => operation === undefined)) return true
    const key = `${at.join()} ${version}`
    if (seen.has(key)) continue
    seen.add(key)
    const firstEnd = Math.min(...next.map((operation) => operation?.end ?? Infinity))
    for (const [client, operation] of next.entries()) {
      // Nothing may come before a call that had ended when it began.
      if (operation === undefined || operation.start > firstEnd) continue
      const after = apply(operation, version)
      if (after !== undefined) pending.push({ at: at.map((n, who) => (who === client ? n + 1 : n)), version: after })
    }
  }
  return false
}

/** The version after the operation, undefined when it cannot have happened at this one. */
function apply(
  { action, expected, conflict, version }: RegisterOperation,
  current: string | null,
): string | null | undefined {
  if (action === 'get') return version === current ? current : undefined
  if (conflict === true) return version === current && expected !== current ? current : undefined
  if (expected !== undefined && expected !== current) return undefined
  return version ?? null
}
