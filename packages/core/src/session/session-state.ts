import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { JsonValue } from '../errors/error-details.js'
import { SandboxError } from '../errors/sandbox-error.js'
import type { SessionState } from '../contracts/session.js'
import { isShallow } from './json-depth.js'
import { snapshotRefSchema } from './session-record.js'

const stateSchema: z.ZodType<SessionState> = z.strictObject({
  version: z.literal(1),
  backend: z.string().min(1).max(200),
  sessionId: z.string().regex(/^[a-z0-9-]{1,64}$/),
  slot: z.string().min(1).max(1024),
  sandbox: z.json() as z.ZodType<JsonValue>,
  incarnation: z.string().regex(/^[a-z0-9]{8,64}$/),
  snapshot: snapshotRefSchema.nullable(),
  mac: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable(),
})

/** Seals a state: with a key, its HMAC-SHA-256 makes tampering visible. */
export function sealState(state: Omit<SessionState, 'mac'>, stateKey: Uint8Array | null): SessionState {
  return { ...state, mac: stateKey === null ? null : macOf(state, stateKey) }
}

/**
 * Parses a state that comes from outside. Throws `state_version_unsupported`, and `state_corrupt` for what does not follow
 * the schema or, with a key, was not sealed by it.
 */
export function openState(value: JsonValue, stateKey: Uint8Array | null): SessionState {
  if (!isShallow(value)) throw corruptState('it is nested too deeply')
  const version = z.object({ version: z.number().int() }).safeParse(value)
  if (version.success && version.data.version !== 1) {
    throw new SandboxError(
      'state_version_unsupported',
      `the session state has version ${version.data.version}; this release reads version 1`,
      { key: 'session state', version: version.data.version, supported: [1] },
    )
  }
  const parsed = stateSchema.safeParse(value)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw corruptState(`${issue?.path.map(String).join('.') ?? ''}: ${issue?.message ?? 'not a session state'}`)
  }
  if (stateKey !== null) {
    const { mac, ...rest } = parsed.data
    if (mac === null) throw corruptState('it carries no signature, and this host has a state key')
    if (!timingSafeEqual(Buffer.from(mac, 'hex'), Buffer.from(macOf(rest, stateKey), 'hex'))) {
      throw corruptState('its signature does not match')
    }
  }
  return parsed.data
}

function macOf(state: Omit<SessionState, 'mac'>, stateKey: Uint8Array): string {
  return createHmac('sha256', stateKey)
    .update(canonicalJson(state as unknown as JsonValue))
    .digest('hex')
}

/** JSON with the members of every object in order of their names, so that a store may reorder them. */
function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map((item: JsonValue) => canonicalJson(item)).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value as { [key: string]: JsonValue }).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(',')}}`
}

function corruptState(reason: string): SandboxError<'state_corrupt'> {
  return new SandboxError(
    'state_corrupt',
    `the session state cannot be used: ${reason}. Acquire by scope, or from a snapshot.`,
    { key: 'session state', reason },
  )
}
