import type { Sandbox } from '../contracts/sandbox.js'
import type { SnapshotEngine, SnapshotRef, SnapshotSpec } from '../contracts/snapshot.js'
import { SandboxError } from '../errors/sandbox-error.js'
import type { SessionRecord } from '../session/session-record.js'
import type { HostContext } from './host-context.js'

export interface SaveWorkspaceRequest {
  readonly record: SessionRecord
  readonly hash: string
  readonly sandbox: Sandbox
  readonly signal?: AbortSignal
}

/** Takes a snapshot while background processes hold still. Null where the engine keeps nothing. */
export async function saveWorkspace(context: HostContext, request: SaveWorkspaceRequest): Promise<SnapshotRef | null> {
  const { sandbox } = request
  const engine = engineOf(context, specOf(request.record))
  if (!engine.features.persistent) return null
  if (!sandbox.features.freeze) return takeSnapshot(context, engine, request)
  await sandbox.freeze()
  try {
    return await takeSnapshot(context, engine, request)
  } finally {
    await sandbox.thaw()
  }
}

/** Takes a snapshot of the workspace as it is. */
export async function takeSnapshot(
  context: HostContext,
  engine: SnapshotEngine,
  request: SaveWorkspaceRequest,
): Promise<SnapshotRef | null> {
  const { record, hash, sandbox, signal } = request
  const startedMs = context.clock.monotonicMs()
  const ref = await engine.take(sandbox, {
    slotHash: hash,
    parent: record.snapshot,
    exclude: record.save.exclude,
    spec: specOf(record),
    onProgress: (progress) => context.emit(record.sessionId, { type: 'snapshot.progress', ...progress }),
    onSkipped: (path, reason) => context.emit(record.sessionId, { type: 'snapshot.skipped_path', path, reason }),
    ...(signal === undefined ? {} : { signal }),
  })
  if (ref === null) return null
  const durationMs = context.clock.monotonicMs() - startedMs
  const { id: snapshot, files, sizeBytes: bytes } = ref
  context.emit(record.sessionId, { type: 'snapshot.taken', snapshot, files, bytes, durationMs })
  return ref
}

/** The engine of a spec or ref. Throws `invalid_argument`. */
export function engineOf(context: HostContext, of: { readonly kind: string }): SnapshotEngine {
  const engine = context.engines.get(of.kind)
  if (engine !== undefined) return engine
  const known = [...context.engines.keys()].join(', ')
  throw new SandboxError('invalid_argument', `there is no snapshot engine of kind ${of.kind}; this host has ${known}`, {
    argument: 'snapshots',
    reason: `unknown kind ${of.kind}`,
  })
}

/** The spec that a record was claimed with; it was parsed by its engine then, and is parsed again here. */
export function specOf(record: SessionRecord): SnapshotSpec {
  return record.save.spec as unknown as SnapshotSpec
}
