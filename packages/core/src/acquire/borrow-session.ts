import type { AcquireRequest } from '../contracts/host.js'
import type { ReleaseOptions, SandboxSession } from '../contracts/session.js'
import { SandboxError } from '../errors/sandbox-error.js'
import { diffManifests } from '../manifest/diff-manifests.js'
import type { Manifest } from '../manifest/manifest.js'
import { assertAllowed } from '../session/session-status.js'
import { liveSessionOf, SessionHandle } from '../session/session-handle.js'
import type { LiveSession } from '../session/live-session.js'
import { materialize } from '../workspace/materialize.js'
import { resolveSecret } from '../workspace/environment.js'
import type { HostContext } from './host-context.js'
import { engineOf } from './save-workspace.js'
import { slotHash } from './slot-key.js'

/**
 * Configures and uses a session that the caller already has. It stays the caller's: releasing the handle leaves it
 * running and writes no record.
 */
export async function borrowSession(
  context: HostContext,
  session: SandboxSession,
  manifest: Manifest,
  request: AcquireRequest,
): Promise<SandboxSession> {
  const live = liveSessionOf(session)
  if (live === undefined) {
    throw new SandboxError('invalid_argument', 'acquire: session is not one that a host of this package handed out', {
      argument: 'session',
      reason: 'a foreign session',
    })
  }
  assertAllowed(session.status, 'use')
  live.assertUsable()
  if (request.manifest !== undefined) await addEntries(context, live, manifest, request.signal)
  const handle = new SessionHandle(live, 'borrowed', {
    snapshot: () => session.snapshot(),
    release: async (_live, options) => {
      context.live.handles.delete(handle)
      const ref = (options.onRelease ?? 'leave') === 'persist' ? await persist(context, live, request, options) : null
      return { snapshot: ref, state: null, compute: 'left' }
    },
  })
  context.live.handles.add(handle)
  return handle
}

/** What today's manifest names and the workspace does not hold. What the sandbox was made from cannot change any more. */
async function addEntries(
  context: HostContext,
  live: LiveSession,
  manifest: Manifest,
  signal: AbortSignal | undefined,
): Promise<void> {
  const diff = diffManifests(live.manifest, manifest)
  if (diff.mounts.added.length + diff.mounts.changed.length > 0) {
    throw new SandboxError('plan_changed', 'a live session cannot get other mounts; acquire one without session', {
      changed: ['mounts'],
    })
  }
  await materialize({
    sandbox: live.sandbox,
    manifest,
    select: 'missing',
    hostAccess: context.hostAccess,
    secrets: (ref) => resolveSecret(ref, context.secrets, context.redactor),
    emit: live.emit,
    ...(signal === undefined ? {} : { signal }),
  })
}

async function persist(
  context: HostContext,
  live: LiveSession,
  request: AcquireRequest,
  options: ReleaseOptions,
): ReturnType<SandboxSession['snapshot']> {
  live.assertUsable()
  const spec = request.snapshots ?? context.snapshots
  return engineOf(context, spec).take(live.sandbox, {
    slotHash: slotHash(live.slot),
    parent: live.snapshot,
    exclude: live.snapshotExcludes,
    spec,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  })
}
