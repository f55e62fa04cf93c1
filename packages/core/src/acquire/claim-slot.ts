import { randomBytes, randomUUID } from 'node:crypto'
import type { Lease } from '../contracts/guard.js'
import type { SnapshotRef } from '../contracts/snapshot.js'
import { isSandboxError, SandboxError } from '../errors/sandbox-error.js'
import { failpoint } from '../failpoint.js'
import { parseRecord, RECORD_VERSION } from '../session/session-record.js'
import type { SessionRecord } from '../session/session-record.js'
import type { HostContext } from './host-context.js'
import { judgeClaim } from './judge-claim.js'
import { RecordKeeper } from './record-keeper.js'
import { recordKey, slotHash } from './slot-key.js'
import type { Claim } from './turn.js'

export interface ClaimRequest {
  readonly slot: string
  /** For a slot without a record. Default: a new one. */
  readonly sessionId?: string
  readonly backend: string
  readonly save: SessionRecord['save']
  readonly waitMs?: number
  readonly signal?: AbortSignal
  /** What a record-less slot starts from, or what replaces the record's pointers. */
  readonly seed?: ClaimSeed
  readonly forkOf?: SessionRecord['forkOf']
}

/** Pointers that the caller brings along. */
export interface ClaimSeed {
  readonly snapshot: SnapshotRef | null
  /** `record`: replaces the pointers of a record. `nothing`: only for a slot that has none, for it is somebody's work. */
  readonly over: 'record' | 'nothing'
  /** The snapshot holds a workspace that was ready: what it does not hold was removed on purpose. Default false. */
  readonly ready?: boolean
  /** A sandbox to reattach; null: only the snapshot. */
  readonly sandbox: {
    readonly state: SessionRecord['sandboxState']
    readonly incarnation: string
    readonly backend: string
  } | null
}

/** Enters the guard, reads the record and writes ours over it, before anything is created. */
export async function claimSlot(context: HostContext, request: ClaimRequest): Promise<Claim> {
  const { slot } = request
  const hash = slotHash(slot)
  context.emit(null, { type: 'acquire.waiting', slot })
  const lease = await enterSlot(context, request)
  try {
    failpoint('acquire.leased')
    const claim = await claimUnderLease(context, request, { hash, lease })
    failpoint('acquire.claimed')
    context.emit(claim.keeper.record.sessionId, {
      type: 'acquire.claimed',
      slot,
      fence: claim.keeper.record.fence,
      tookOver: claim.tookOver,
    })
    return claim
  } catch (error) {
    await lease.release()
    throw error
  }
}

async function enterSlot(context: HostContext, request: ClaimRequest): Promise<Lease> {
  const { slot, signal } = request
  const { live } = context
  const waitMs = live.draining ? 0 : request.waitMs
  const wait = new AbortController()
  const onAbort = (): void => wait.abort(signal?.reason)
  if (signal?.aborted === true) onAbort()
  signal?.addEventListener('abort', onAbort, { once: true })
  live.waiting.add(wait)
  try {
    const options = { ttlMs: context.leaseTtlMs, signal: wait.signal }
    return await context.guard.enter(slot, waitMs === undefined ? options : { ...options, waitMs })
  } catch (error) {
    const isOver = isSandboxError(error, 'lease_timeout')
    if (live.draining && (isOver || (signal?.aborted !== true && isSandboxError(error, 'aborted'))))
      throw drained(error)
    throw waitMs === 0 && isOver ? busy(slot, null, error) : error
  } finally {
    signal?.removeEventListener('abort', onAbort)
    live.waiting.delete(wait)
  }
}

async function claimUnderLease(
  context: HostContext,
  request: ClaimRequest,
  at: { readonly hash: string; readonly lease: Lease },
): Promise<Claim> {
  const { slot } = request
  const key = recordKey(at.hash)
  const entry = await context.states.get(key, request.signal === undefined ? {} : { signal: request.signal })
  const stored = entry === undefined ? null : parseRecord(slot, entry.value)
  const judgement = stored === null ? 'free' : judge(context, stored)
  if (judgement === 'held') throw busy(slot, stored?.owner?.host ?? null)
  const prior = seeded(stored, request)
  const record = claimedRecord(context, request, { stored, prior, leaseFence: at.lease.fence, hash: at.hash })
  const keeper = await RecordKeeper.claim(context.states, key, at.lease, { record, over: entry?.version ?? null })
  return { slot, hash: at.hash, lease: at.lease, keeper, prior, tookOver: judgement === 'left-behind' }
}

function judge(context: HostContext, record: SessionRecord): ReturnType<typeof judgeClaim> {
  return judgeClaim({ record, reach: context.guard.reach, hostId: context.hostId, nowMs: context.clock.nowMs() })
}

/** The record with the caller's pointers in place of its own; a deleted one counts as none. */
function seeded(stored: SessionRecord | null, request: ClaimRequest): SessionRecord | null {
  const base = stored === null || stored.phase === 'deleted' ? null : stored
  const { seed } = request
  if (seed === undefined || base === null || seed.over === 'nothing') return base
  const { sandbox, snapshot } = seed
  if (sandbox === null) return { ...base, snapshot, workspaceReady: false, sandboxState: null, compute: 'none' }
  return {
    ...base,
    snapshot,
    workspaceReady: true,
    sandboxState: sandbox.state,
    incarnation: sandbox.incarnation,
    backend: sandbox.backend,
    compute: 'parked',
  }
}

function claimedRecord(
  context: HostContext,
  request: ClaimRequest,
  facts: {
    readonly stored: SessionRecord | null
    readonly prior: SessionRecord | null
    readonly leaseFence: bigint
    readonly hash: string
  },
): SessionRecord {
  const { stored, prior, leaseFence, hash } = facts
  const seen = stored === null ? 0n : BigInt(stored.fence)
  const incarnation = prior?.incarnation ?? request.seed?.sandbox?.incarnation ?? newIncarnation()
  return {
    version: RECORD_VERSION,
    slot: request.slot,
    sessionId: prior?.sessionId ?? request.sessionId ?? randomUUID(),
    fence: String((seen > leaseFence ? seen : leaseFence) + 1n),
    phase: 'claimed',
    owner: context.owner,
    expiresAtMs: context.heartbeat.expiresAtMs(),
    backend: prior?.backend ?? request.seed?.sandbox?.backend ?? request.backend,
    sandboxName: prior?.sandboxName ?? sandboxName(hash, incarnation),
    incarnation,
    workspaceReady: prior?.workspaceReady ?? (request.seed?.ready === true || hasSandbox(request.seed)),
    sandboxState: prior?.sandboxState ?? request.seed?.sandbox?.state ?? null,
    compute: prior?.compute ?? 'none',
    snapshot: prior?.snapshot ?? request.seed?.snapshot ?? null,
    // Whoever held it last without releasing may have worked after the last snapshot.
    unsaved: prior !== null && (prior.unsaved || prior.phase === 'ready'),
    save: request.save,
    forkOf: request.forkOf ?? prior?.forkOf ?? null,
    updatedAtMs: Math.round(context.clock.nowMs()),
  }
}

function hasSandbox(seed: ClaimSeed | undefined): boolean {
  return seed !== undefined && seed.sandbox !== null
}

export function newIncarnation(): string {
  return randomBytes(8).toString('hex')
}

export function sandboxName(hash: string, incarnation: string): string {
  return `cofferdam-${hash.slice(0, 16)}-${incarnation}`
}

function busy(slot: string, holder: string | null, cause?: unknown): SandboxError<'busy'> {
  return new SandboxError(
    'busy',
    `${slot} is in use${holder === null ? '' : ` by ${holder}`}; wait with waitMs, or work on a copy with concurrency: 'fork'`,
    { slot, holder },
    { cause },
  )
}

/** For whoever comes to a host that takes nobody in any more. */
export function drained(cause?: unknown): SandboxError<'not_running'> {
  return new SandboxError('not_running', 'the host is drained; create another one', { status: 'drained' }, { cause })
}
