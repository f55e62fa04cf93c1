import type { SnapshotRef } from '../contracts/snapshot.js'
import { isSandboxError, SandboxError } from '../errors/sandbox-error.js'
import { failpoint } from '../failpoint.js'
import { parseRecord, recordToJson } from '../session/session-record.js'
import type { SessionRecord } from '../session/session-record.js'
import { newIncarnation, sandboxName } from './claim-slot.js'
import type { HostContext } from './host-context.js'
import type { Turn } from './turn.js'
import { recordKey, slotHash } from './slot-key.js'

const DEFAULT_FORK_TTL_MS = 24 * 3_600_000
/** Nobody has claimed the slot, so its lease is held for moments only: by a reaper, or by another fork that commits. */
const COMMIT_WAIT_MS = 5_000

/** Where the record of a fork that lost says until when its snapshot is kept. */
export function forkPinKey(expiresAtMs: number, sessionId: string): string {
  return `forks/${String(expiresAtMs).padStart(15, '0')}-${sessionId}`
}

/**
 * Makes the fork's snapshot the slot's, if the slot is as it was when it was forked. Otherwise `state_conflict`, whose
 * details name the snapshot; that stays for `forkTtlMs`.
 */
export async function commitFork(context: HostContext, turn: Turn, snapshot: SnapshotRef): Promise<void> {
  const { forkOf } = turn.claim.keeper.record
  if (forkOf === null) return
  try {
    await readUnmoved(context, forkOf)
    const lease = await context.guard.enter(forkOf.slot, { waitMs: COMMIT_WAIT_MS, ttlMs: context.leaseTtlMs })
    try {
      await replaceSnapshot(context, forkOf, snapshot)
    } finally {
      await lease.release()
    }
  } catch (error) {
    if (!isSandboxError(error, 'lease_timeout') && !isSandboxError(error, 'state_conflict')) throw error
    throw await pinned(context, turn, { slot: forkOf.slot, expected: forkOf.version, snapshot, cause: error })
  }
}

/** Throws `state_conflict` when somebody has claimed or changed the slot: a claim changes its record at once. */
async function readUnmoved(
  context: HostContext,
  forkOf: NonNullable<SessionRecord['forkOf']>,
): Promise<{ readonly key: string; readonly record: SessionRecord }> {
  const key = recordKey(slotHash(forkOf.slot))
  const entry = await context.states.get(key)
  if (entry !== undefined && entry.version === forkOf.version) {
    const record = parseRecord(forkOf.slot, entry.value)
    // Somebody who is at work, or whose work is not saved yet, has won.
    if (record.owner === null && !record.unsaved) return { key, record }
  }
  const actual = entry?.version ?? null
  throw new SandboxError('state_conflict', `${forkOf.slot} has moved on`, { key, expected: forkOf.version, actual })
}

async function replaceSnapshot(
  context: HostContext,
  forkOf: NonNullable<SessionRecord['forkOf']>,
  snapshot: SnapshotRef,
): Promise<void> {
  const { key, record } = await readUnmoved(context, forkOf)
  const hash = slotHash(forkOf.slot)
  const incarnation = newIncarnation()
  const next: SessionRecord = {
    ...record,
    fence: String(BigInt(record.fence) + 1n),
    snapshot,
    incarnation,
    sandboxName: sandboxName(hash, incarnation),
    sandboxState: null,
    compute: 'none',
    unsaved: false,
    workspaceReady: true,
    updatedAtMs: Math.round(context.clock.nowMs()),
  }
  await context.states.put(key, recordToJson(next), { ifVersion: forkOf.version })
  failpoint('fork.committed')
  const client = context.backends.get(record.backend)
  // What the slot had parked holds older work than the snapshot now does.
  if (client !== undefined && record.sandboxState !== null)
    await client.delete(client.stateSchema.parse(record.sandboxState))
}

async function pinned(
  context: HostContext,
  turn: Turn,
  lost: { readonly slot: string; readonly expected: string; readonly snapshot: SnapshotRef; readonly cause: unknown },
): Promise<SandboxError> {
  const { slot, expected, snapshot, cause } = lost
  const expiresAtMs = Math.round(context.clock.nowMs() + (turn.request.forkTtlMs ?? DEFAULT_FORK_TTL_MS))
  await context.states.put(forkPinKey(expiresAtMs, turn.live.id), { slot: turn.claim.slot, snapshot: { ...snapshot } })
  const actual = isSandboxError(cause, 'state_conflict') ? cause.details.actual : null
  return new SandboxError(
    'state_conflict',
    `${slot} was changed by somebody else since it was forked. The fork's work is in snapshot ${snapshot.id}, kept until ` +
      `${new Date(expiresAtMs).toISOString()}: acquire with it as snapshot, or merge it by hand.`,
    { key: recordKey(slotHash(slot)), expected, actual, snapshot: { ...snapshot } },
    { retryable: false, cause },
  )
}
