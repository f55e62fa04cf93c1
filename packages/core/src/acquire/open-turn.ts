import { randomUUID } from 'node:crypto'
import type { AcquireRequest } from '../contracts/host.js'
import type { SandboxSession } from '../contracts/session.js'
import { failpoint } from '../failpoint.js'
import type { Manifest } from '../manifest/manifest.js'
import { LiveSession } from '../session/live-session.js'
import { SessionHandle } from '../session/session-handle.js'
import { resolveEnvironment } from '../workspace/environment.js'
import { resolveMounts } from '../workspace/resolve-mounts.js'
import { planSandbox } from './acquire-plan.js'
import { claimSlot } from './claim-slot.js'
import type { ClaimRequest } from './claim-slot.js'
import type { HostContext } from './host-context.js'
import { clientOf, openSandbox } from './open-sandbox.js'
import { prepareWorkspace } from './prepare-workspace.js'
import { snapshotSession } from './snapshot-session.js'
import type { SeededSlot } from './seed-slot.js'
import { sessionSlotKey } from './slot-key.js'
import type { Claim, OpenedSandbox, Turn } from './turn.js'
import { undoStart } from './undo-start.js'

/** A request with everything decided that needs no waiting. */
export interface DecidedRequest {
  readonly request: AcquireRequest
  readonly manifest: Manifest
  readonly backend: string
  readonly save: ClaimRequest['save']
  /** Null: a slot of its own. */
  readonly slot: string | null
}

/** Claims, opens, prepares: the whole way to a session that is ready. What fails on it is undone. */
export async function openTurn(
  context: HostContext,
  decided: DecidedRequest,
  from: SeededSlot & Pick<ClaimRequest, 'forkOf'>,
): Promise<Turn> {
  const startedMs = context.clock.monotonicMs()
  const claim = await claimSlot(context, claimRequest(decided, from))
  context.heartbeat.add(claim.keeper)
  let opened: OpenedSandbox | undefined
  try {
    opened = await open(context, claim, decided)
    const turn = await start(context, claim, { decided, opened })
    context.emit(turn.live.id, {
      type: 'session.ready',
      branch: turn.live.branch,
      backend: decided.backend,
      isolation: opened.sandbox.features.isolation,
      durationMs: context.clock.monotonicMs() - startedMs,
    })
    return turn
  } catch (error) {
    context.heartbeat.remove(claim.keeper)
    throw await undoStart(context, claim, { opened, error })
  }
}

/** A handle that may use the session and whose release does nothing: for hooks. */
export function hookHandle(context: HostContext, turn: Turn): SandboxSession {
  return new SessionHandle(turn.live, 'borrowed', {
    snapshot: (_live, signal) => snapshotSession(context, turn, signal),
    release: () => Promise.resolve({ snapshot: null, state: null, compute: 'left' }),
  })
}

function claimRequest(decided: DecidedRequest, from: SeededSlot & Pick<ClaimRequest, 'forkOf'>): ClaimRequest {
  const { request, backend, save } = decided
  const sessionId = from.sessionId ?? randomUUID()
  return {
    slot: from.slot ?? sessionSlotKey(sessionId),
    sessionId,
    backend,
    save,
    ...(from.seed === undefined ? {} : { seed: from.seed }),
    ...(from.forkOf === undefined ? {} : { forkOf: from.forkOf }),
    ...(request.waitMs === undefined ? {} : { waitMs: request.waitMs }),
    ...(request.signal === undefined ? {} : { signal: request.signal }),
  }
}

async function open(context: HostContext, claim: Claim, decided: DecidedRequest): Promise<OpenedSandbox> {
  const { request, manifest, backend } = decided
  const client = clientOf(context, backend)
  const environment = await resolveEnvironment(manifest, context.secrets, context.redactor)
  const mounts = await resolveMounts(manifest, { hostAccess: context.hostAccess, features: client.features })
  return openSandbox(context, claim, {
    backend,
    plan: planSandbox({ client, request, manifest, environment, mounts }),
    ...(request.signal === undefined ? {} : { signal: request.signal }),
  })
}

async function start(
  context: HostContext,
  claim: Claim,
  from: { readonly decided: DecidedRequest; readonly opened: OpenedSandbox },
): Promise<Turn> {
  const { request, manifest } = from.decided
  const { sandbox } = from.opened
  const { keeper } = claim
  const live = liveSession(context, claim, from)
  live.moveTo('starting')
  live.branch = await prepareWorkspace(context, claim, {
    sandbox,
    manifest,
    ...(request.signal === undefined ? {} : { signal: request.signal }),
  })
  live.snapshot = keeper.record.snapshot
  await keeper.write((record) => ({
    ...record,
    phase: 'ready',
    workspaceReady: true,
    sandboxState: sandbox.state,
    compute: 'live',
    updatedAtMs: Math.round(context.clock.nowMs()),
  }))
  failpoint('start.ready')
  const turn: Turn = { claim, opened: from.opened, live, request }
  await request.hooks?.afterStart?.(hookHandle(context, turn))
  live.moveTo('ready')
  return turn
}

function liveSession(
  context: HostContext,
  claim: Claim,
  from: { readonly decided: DecidedRequest; readonly opened: OpenedSandbox },
): LiveSession {
  const { keeper } = claim
  const id = keeper.record.sessionId
  const emit: LiveSession['emit'] = (event) => context.emit(id, event)
  keeper.lost.addEventListener('abort', () => emit({ type: 'lease.lost', slot: claim.slot }), { once: true })
  return new LiveSession({
    id,
    slot: claim.slot,
    backendId: from.decided.backend,
    sandbox: from.opened.sandbox,
    manifest: from.decided.manifest,
    mounts: from.opened.mounts.map(({ target, readOnly }) => ({ path: target, readOnly })),
    clock: context.clock,
    assertHeld: keeper.assertHeld,
    lost: keeper.lost,
    emit,
    subscribe: (listener) =>
      context.subscribe((event) => {
        if (event.sessionId === id) listener(event)
      }),
    redact: (text) => context.redactor.redact(text),
  })
}
