import type { AcquireRequest } from '../contracts/host.js'
import type { SandboxSession } from '../contracts/session.js'
import { assertNotAborted } from '../errors/assert-not-aborted.js'
import type { JsonValue } from '../errors/error-details.js'
import { isSandboxError, SandboxError } from '../errors/sandbox-error.js'
import { snapshotExcludes } from '../manifest/manifest-paths.js'
import { parseManifest } from '../manifest/parse-manifest.js'
import type { Manifest } from '../manifest/manifest.js'
import { SessionHandle } from '../session/session-handle.js'
import { assertConsistent, chooseSlot } from './acquire-plan.js'
import { borrowSession } from './borrow-session.js'
import { forkSession } from './fork-session.js'
import type { HostContext, SharedSession } from './host-context.js'
import { clientOf } from './open-sandbox.js'
import { openTurn } from './open-turn.js'
import type { DecidedRequest } from './open-turn.js'
import type { Turn } from './turn.js'
import { releaseSession } from './release-session.js'
import { engineOf } from './save-workspace.js'
import { seedSlot } from './seed-slot.js'
import { shareSession } from './share-session.js'
import { snapshotSession } from './snapshot-session.js'

/** Finds or makes the session that a request means. What happens on the way stands in `contracts/session.ts`. */
export async function acquireSession(context: HostContext, request: AcquireRequest): Promise<SandboxSession> {
  assertNotAborted(request.signal, 'acquire')
  assertConsistent(request)
  const manifest = parseManifest(request.manifest ?? {})
  if (request.session !== undefined) return borrowSession(context, request.session, manifest, request)
  const decided = decide(context, request, manifest)
  try {
    if (request.concurrency === 'fork') return await forkSession(context, decided, (turn) => handOut(context, turn))
    if (request.concurrency === 'share') {
      return await shareSession(context, decided, (turn, shared) => handOut(context, turn, shared))
    }
    return handOut(context, await openTurn(context, decided, await seedSlot(context, request, decided.slot)))
  } catch (error) {
    const json = isSandboxError(error) ? error.toJSON() : null
    context.emit(null, { type: 'acquire.failed', slot: decided.slot ?? '', error: json })
    throw error
  }
}

function decide(context: HostContext, request: AcquireRequest, manifest: Manifest): DecidedRequest {
  const { slot, missing } = chooseSlot(request)
  if (missing !== null) context.emit(null, { type: 'scope.missing_key', ...missing })
  const backend = request.backend ?? context.defaultBackend
  clientOf(context, backend)
  const spec = request.snapshots ?? context.snapshots
  const parsed = engineOf(context, spec).specSchema.safeParse(spec)
  if (!parsed.success) {
    const reason = parsed.error.issues
      .map((issue) => `${issue.path.map(String).join('.')}: ${issue.message}`)
      .join('; ')
    throw new SandboxError('invalid_argument', `snapshots: ${reason}`, { argument: 'snapshots', reason })
  }
  const save = { spec: parsed.data as unknown as JsonValue, exclude: [...snapshotExcludes(manifest)] }
  return { request, manifest, backend, save, slot }
}

/** A handle for the caller. Of a shared session only the last release ends the turn. */
function handOut(context: HostContext, turn: Turn, shared?: SharedSession): SandboxSession {
  context.parked.forget(turn.claim.slot)
  const handle = new SessionHandle(turn.live, 'owned', {
    snapshot: (_live, signal) => snapshotSession(context, turn, signal),
    release: async (_live, options) => {
      try {
        if (shared !== undefined) {
          shared.holders -= 1
          if (shared.holders > 0) return { snapshot: turn.live.snapshot, state: null, compute: 'left' }
          context.live.shared.delete(turn.claim.slot)
        }
        return await releaseSession(context, turn, options)
      } finally {
        context.live.handles.delete(handle)
      }
    },
  })
  context.live.handles.add(handle)
  return handle
}
