import { createHash } from 'node:crypto'
import type { Scope } from '../contracts/host.js'
import { SandboxError } from '../errors/sandbox-error.js'

/**
 * The state store key of a scope. Every part carries its length in bytes, so that no two scopes share a key whatever
 * characters their values hold: `slots/0:/4:user/3:ada/`.
 */
export function slotKey(scope: Scope): string {
  const [kind, value] = scopeValue(scope)
  if (value === undefined) throw new TypeError(`the scope has no ${kind} value`)
  return `slots/${part('tenant', scope.tenant ?? '')}${part('kind', kind)}${part(kind, value)}`
}

/** Key of a session without a scope. */
export function sessionSlotKey(sessionId: string): string {
  return `sessions/${sessionId}`
}

/** Short enough for a label of any provider; 160 bits of SHA-256. */
export function slotHash(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 40)
}

/** Kind and value of a scope; a user or agent may be missing. Throws `invalid_argument` for anything but one member. */
export function scopeValue(scope: Scope): [kind: 'session' | 'user' | 'agent' | 'global', value: string | undefined] {
  const { tenant: _, ...rest } = scope as Scope & Record<string, unknown>
  const kinds = Object.keys(rest)
  const kind = kinds[0]
  if (kinds.length !== 1 || (kind !== 'session' && kind !== 'user' && kind !== 'agent' && kind !== 'global')) {
    throw invalidScope(
      `a scope has exactly one of session, user, agent or global; this one has ${kinds.join(', ') || 'none'}`,
    )
  }
  const value = (rest as Record<string, unknown>)[kind]
  if (kind === 'global') return [kind, '']
  if (value === undefined || value === null || value === '') return [kind, undefined]
  if (typeof value !== 'string') throw invalidScope(`the ${kind} of a scope is a string`)
  return [kind, value]
}

function part(what: string, value: string): string {
  if (typeof value !== 'string') throw invalidScope(`the ${what} of a scope is a string`)
  const lengthBytes = Buffer.byteLength(value)
  if (lengthBytes > 400) throw invalidScope(`the ${what} is longer than 400 bytes; pass a hash of it`)
  if (/\p{Surrogate}/u.test(value) || value.includes('\0'))
    throw invalidScope(`the ${what} holds NUL or half of a surrogate pair`)
  return `${lengthBytes}:${value}/`
}

function invalidScope(reason: string): SandboxError<'invalid_argument'> {
  return new SandboxError('invalid_argument', `scope: ${reason}`, { argument: 'scope', reason })
}

/** Where the record of a slot lies: found from the label of a sandbox alone. */
export function recordKey(hash: string): string {
  return `records/${hash}`
}
