import { SandboxError } from '../../errors/sandbox-error.js'
import type { EnterOptions } from '../../contracts/guard.js'
import { checkKey, invalid } from '../check-argument.js'

const DEFAULT_TTL_MS = 60_000
/** A day: with a longer one a key would be lost for good when its holder is, and timers end at 24.8 days. */
const MAX_TTL_MS = 86_400_000

export interface EnterRequest {
  readonly key: string
  readonly waitMs: number | undefined
  readonly ttlMs: number
  readonly signal: AbortSignal | undefined
}

export function parseEnter(key: string, { waitMs, ttlMs = DEFAULT_TTL_MS, signal }: EnterOptions): EnterRequest {
  checkKey(key)
  if (!(ttlMs >= 1000 && ttlMs <= MAX_TTL_MS)) throw invalid('ttlMs', `it is not between 1000 and ${MAX_TTL_MS}`)
  if (waitMs !== undefined && !(waitMs >= 0)) throw invalid('waitMs', 'it is not 0 or more')
  return { key, waitMs, ttlMs, signal }
}

export function leaseTimeout(key: string, waitMs: number): SandboxError<'lease_timeout'> {
  const message = `The lease for ${key} was not granted within ${waitMs} ms: somebody else holds it.`
  return new SandboxError('lease_timeout', message, { key, waitMs })
}
