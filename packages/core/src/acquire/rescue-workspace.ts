import type { SandboxClient, SandboxSummary } from '../contracts/client.js'
import type { Lease } from '../contracts/guard.js'
import { isSandboxError } from '../errors/sandbox-error.js'
import { parseRecord, RECORD_VERSION } from '../session/session-record.js'
import type { SessionRecord } from '../session/session-record.js'
import type { HostContext } from './host-context.js'
import { hasMarker } from './ready-marker.js'
import { RecordKeeper } from './record-keeper.js'
import { engineOf, saveWorkspace, specOf } from './save-workspace.js'
import { recordKey } from './slot-key.js'

export interface RescueRequest {
  readonly client: SandboxClient
  readonly summary: SandboxSummary
  /** Null: nobody knows the sandbox, and its labels are all there is. */
  readonly record: SessionRecord | null
  readonly version: string | null
  readonly lease: Lease
}

/**
 * Saves the workspace of a sandbox whose holder is dead and points the record to the snapshot. False when it cannot be
 * saved (snapshots of kind `none`, a backend that finds no sandbox again, a slot that has another workspace by now); true
 * when it is safe, or when there was nothing to save.
 */
export async function rescueWorkspace(context: HostContext, request: RescueRequest): Promise<boolean> {
  const { client, summary, lease } = request
  if (!client.features.reattach || (request.record !== null && request.record.sandboxName !== summary.name))
    return false
  const hash = summary.identity.slotHash
  const base = request.record ?? unknownRecord(context, summary, client)
  const claimed = claimedForRescue(context, base, lease)
  const key = recordKey(hash)
  const keeper = await RecordKeeper.claim(context.states, key, lease, { record: claimed, over: request.version })
  const plan = {
    name: summary.name,
    identity: summary.identity,
    workspaceRoot: '/workspace',
    environment: {},
    mounts: [],
    limits: { memoryBytes: null, cpus: null, pids: null, diskBytes: null },
    network: { kind: client.features.network.includes('none') ? ('none' as const) : ('open' as const) },
    users: 'off' as const,
    entrypoint: 'ignore' as const,
    fromNative: null,
    requires: {},
  }
  let snapshot = keeper.record.snapshot
  try {
    const sandbox = await client.resume(summary.state, plan, { plan: 'any' })
    try {
      if (!sandbox.features.fencing) await sandbox.stop()
      await sandbox.start({ fence: BigInt(keeper.record.fence) })
      await engineOf(context, keeper.record.snapshot ?? specOf(keeper.record)).recover(sandbox)
      // Without the marker the workspace was being filled: what the record points to is newer and whole.
      if (request.record === null || (await hasMarker(sandbox, keeper.record))) {
        const saved = await saveWorkspace(context, { record: keeper.record, hash, sandbox })
        if (saved === null) {
          await handBack(keeper, request.record)
          return false
        }
        snapshot = saved
      }
    } finally {
      await sandbox[Symbol.asyncDispose]()
    }
  } catch (error) {
    if (!isSandboxError(error, 'sandbox_gone')) {
      // When even that fails the record names us until it expires, and the next sweep tries again.
      await handBack(keeper, request.record).catch(() => undefined)
      throw error
    }
  }
  await keeper.write((record) => ({
    ...record,
    phase: 'committed',
    owner: null,
    expiresAtMs: null,
    snapshot,
    unsaved: false,
    sandboxState: null,
    compute: 'none',
    workspaceReady: snapshot !== null,
    updatedAtMs: Math.round(context.clock.nowMs()),
  }))
  return true
}

function claimedForRescue(context: HostContext, base: SessionRecord, lease: Lease): SessionRecord {
  const seen = BigInt(base.fence)
  return {
    ...base,
    fence: String((seen > lease.fence ? seen : lease.fence) + 1n),
    phase: 'ready',
    owner: context.owner,
    expiresAtMs: context.heartbeat.expiresAtMs(),
    unsaved: true,
  }
}

/** It is not saved: the record says again what it said, also of a holder who left something running. */
function handBack(keeper: RecordKeeper, prior: SessionRecord | null): Promise<void> {
  if (prior === null) return keeper.delete()
  return keeper.write((record) => ({ ...prior, fence: record.fence, unsaved: true }))
}

/** For a sandbox whose record is gone: made from its labels, so that the rescued work can be found by its session id. */
function unknownRecord(context: HostContext, summary: SandboxSummary, client: SandboxClient): SessionRecord {
  return parseRecord(recordKey(summary.identity.slotHash), {
    version: RECORD_VERSION,
    slot: recordKey(summary.identity.slotHash),
    sessionId: summary.identity.sessionId,
    // Higher than what a guard counted up to before its count was lost as well.
    fence: String(Math.round(context.clock.nowMs())),
    phase: 'claimed',
    owner: null,
    expiresAtMs: null,
    backend: client.backendId,
    sandboxName: summary.name,
    // The name ends with it, so that the marker is known again when this rescue is cut short.
    incarnation: /-([a-z0-9]{8,64})$/.exec(summary.name)?.[1] ?? '00000000',
    workspaceReady: true,
    sandboxState: { ...summary.state },
    compute: 'parked',
    snapshot: null,
    unsaved: true,
    save: { spec: { ...context.snapshots } as never, exclude: [] },
    forkOf: null,
    updatedAtMs: Math.round(context.clock.nowMs()),
  })
}
