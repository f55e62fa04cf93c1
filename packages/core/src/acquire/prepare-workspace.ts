import type { StartBranch } from '../contracts/observer.js'
import type { Sandbox } from '../contracts/sandbox.js'
import type { SnapshotRef } from '../contracts/snapshot.js'
import { failpoint } from '../failpoint.js'
import type { Manifest } from '../manifest/manifest.js'
import { mountPaths } from '../manifest/manifest-paths.js'
import { emptyWorkspace } from '../workspace/empty-workspace.js'
import { materialize } from '../workspace/materialize.js'
import { resolveSecret } from '../workspace/environment.js'
import { applyProjections } from '../workspace/projection.js'
import type { Claim } from './turn.js'
import type { HostContext } from './host-context.js'
import { hasMarker, removeMarker, writeMarker } from './ready-marker.js'
import { engineOf, specOf } from './save-workspace.js'
import { decideBranch } from './start-branch.js'

export interface PrepareWorkspaceRequest {
  readonly sandbox: Sandbox
  readonly manifest: Manifest
  readonly signal?: AbortSignal
}

/**
 * Brings the workspace of a started sandbox to what it should be and marks it as ready. Whatever happens in between, the
 * marker is either the old one, with the old workspace whole, or absent, and the next start fills the workspace again.
 */
export async function prepareWorkspace(
  context: HostContext,
  claim: Claim,
  request: PrepareWorkspaceRequest,
): Promise<StartBranch> {
  const { sandbox } = request
  const { record } = claim.keeper
  await engineOf(context, record.snapshot ?? specOf(record)).recover(sandbox)
  const marker = record.workspaceReady && (await hasMarker(sandbox, record))
  const branch = decideBranch({ recordReady: record.workspaceReady, marker }, record.snapshot !== null)
  if (branch !== 'warm') await removeMarker(sandbox)
  reportLoss(context, claim, branch)
  failpoint('start.branched')
  await fill(context, claim, { ...request, branch })
  failpoint('start.filled')
  await applyProjections({ ...workspaceRequest(context, claim, request) })
  failpoint('start.projected')
  if (branch !== 'warm') await writeMarker(sandbox, record)
  failpoint('start.marked')
  return branch
}

async function fill(
  context: HostContext,
  claim: Claim,
  request: PrepareWorkspaceRequest & { readonly branch: StartBranch },
): Promise<void> {
  const { branch, sandbox, manifest, signal } = request
  const base = workspaceRequest(context, claim, request)
  const { snapshot } = claim.keeper.record
  if (branch === 'warm') return materialize({ ...base, select: 'ephemeral' })
  if (snapshot !== null) {
    await restore(context, claim, {
      sandbox,
      snapshot,
      keep: mountPaths(manifest),
      ...(signal === undefined ? {} : { signal }),
    })
    failpoint('start.restored')
    return materialize({ ...base, select: branch === 'lost' ? 'ephemeral' : 'missing' })
  }
  await emptyWorkspace(sandbox, { keep: mountPaths(manifest), ...(signal === undefined ? {} : { signal }) })
  failpoint('start.emptied')
  return materialize({ ...base, select: 'all' })
}

/** `restore` of the engine makes the workspace exactly the snapshot, so there is nothing to empty before. */
async function restore(
  context: HostContext,
  claim: Claim,
  request: {
    readonly sandbox: Sandbox
    readonly snapshot: SnapshotRef
    readonly keep: readonly string[]
    readonly signal?: AbortSignal
  },
): Promise<void> {
  const { sandbox, snapshot, keep, signal } = request
  const sessionId = claim.keeper.record.sessionId
  const startedMs = context.clock.monotonicMs()
  await engineOf(context, snapshot).restore(sandbox, snapshot, {
    keep,
    onProgress: (progress) => context.emit(sessionId, { type: 'snapshot.progress', ...progress }),
    ...(signal === undefined ? {} : { signal }),
  })
  const durationMs = context.clock.monotonicMs() - startedMs
  context.emit(sessionId, { type: 'snapshot.restored', snapshot: snapshot.id, durationMs })
}

function workspaceRequest(
  context: HostContext,
  claim: Claim,
  request: PrepareWorkspaceRequest,
): Omit<Parameters<typeof materialize>[0], 'select'> {
  return {
    sandbox: request.sandbox,
    manifest: request.manifest,
    hostAccess: context.hostAccess,
    secrets: (ref) => resolveSecret(ref, context.secrets, context.redactor),
    emit: (event) => context.emit(claim.keeper.record.sessionId, event),
    ...(request.signal === undefined ? {} : { signal: request.signal }),
  }
}

/** Work that is gone is said aloud: nobody should find out by looking for it. */
function reportLoss(context: HostContext, claim: Claim, branch: StartBranch): void {
  const { record } = claim.keeper
  if (branch !== 'lost') return
  const from = record.snapshot === null ? 'the manifest, for there is no snapshot' : `snapshot ${record.snapshot.id}`
  const unsaved = record.unsaved ? '; work since then was not saved and is lost' : ''
  if (record.snapshot !== null && !record.unsaved) return
  context.emit(record.sessionId, {
    type: 'session.degraded',
    reason: `the workspace is no longer there and is made again from ${from}${unsaved}`,
  })
}
