import type { CreateSandbox, Limits, NetworkPlan, SandboxClient } from '../contracts/client.js'
import type { AcquireRequest, Scope } from '../contracts/host.js'
import { SandboxError } from '../errors/sandbox-error.js'
import type { Manifest } from '../manifest/manifest.js'
import { scopeValue, slotKey } from './slot-key.js'

const NO_LIMITS: Limits = { memoryBytes: null, cpus: null, pids: null, diskBytes: null }

/** Which slot a request means; null: none but the session's own. */
export interface SlotChoice {
  readonly slot: string | null
  /** The scope had no value, and this was done about it. */
  readonly missing: { readonly scope: string; readonly policy: 'fresh' | 'fallback' } | null
}

/** Decides the slot. Throws `invalid_argument` for a scope that is none, or lacks its value where that is an error. */
export function chooseSlot(request: AcquireRequest): SlotChoice {
  const { scope } = request
  if (scope === undefined) return { slot: null, missing: null }
  const [kind, value] = scopeValue(scope)
  if (value !== undefined) return { slot: slotKey(scope), missing: null }
  const policy = request.onMissingKey ?? 'fresh'
  if (policy === 'fresh') return { slot: null, missing: { scope: kind, policy } }
  if (policy === 'fallback' && request.fallbackSession !== undefined && request.fallbackSession !== '') {
    return { slot: slotKey(sessionScope(request.fallbackSession, scope)), missing: { scope: kind, policy } }
  }
  const reason = `the ${kind} of the scope is missing${policy === 'fallback' ? ', and so is fallbackSession' : ''}`
  throw new SandboxError('invalid_argument', `scope: ${reason}`, { argument: 'scope', reason })
}

function sessionScope(session: string, like: Scope): Scope {
  return like.tenant === undefined ? { session } : { session, tenant: like.tenant }
}

/** Throws `invalid_argument` for options that contradict each other. */
export function assertConsistent(request: AcquireRequest): void {
  const sources = (['session', 'state', 'snapshot'] as const).filter((source) => request[source] !== undefined)
  if (sources.length > 1) throw contradiction(sources.join(', '), 'give one of session, state and snapshot at most')
  if (request.session !== undefined && request.scope !== undefined) {
    throw contradiction('session, scope', 'a borrowed session has no slot; leave the scope out')
  }
  if (request.concurrency === 'fork' && request.scope === undefined) {
    throw contradiction('concurrency', 'only a scope can be forked; name one')
  }
}

export interface SandboxPlanRequest {
  readonly client: SandboxClient
  readonly request: AcquireRequest
  readonly manifest: Manifest
  readonly environment: Readonly<Record<string, string>>
  readonly mounts: CreateSandbox['mounts']
}

/** What the sandbox is made from, all of it today's. Pure. */
export function planSandbox(from: SandboxPlanRequest): Omit<CreateSandbox, 'name' | 'identity'> {
  const { client, request, manifest } = from
  return {
    workspaceRoot: manifest.root,
    environment: from.environment,
    mounts: from.mounts,
    limits: { ...NO_LIMITS, ...request.limits },
    network: request.network ?? defaultNetwork(client),
    users: request.users ?? (manifest.users.length > 0 && client.features.users ? 'on' : 'off'),
    entrypoint: 'ignore',
    fromNative: null,
    requires: request.require ?? {},
  }
}

function defaultNetwork(client: SandboxClient): NetworkPlan {
  return client.features.network.includes('none') ? { kind: 'none' } : { kind: 'open' }
}

function contradiction(argument: string, reason: string): SandboxError<'invalid_argument'> {
  return new SandboxError('invalid_argument', `acquire: ${reason}`, { argument, reason })
}
