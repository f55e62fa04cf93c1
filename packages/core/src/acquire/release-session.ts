import type { AfterRelease, ReleaseOptions, ReleaseResult, SessionState } from '../contracts/session.js'
import type { SnapshotRef } from '../contracts/snapshot.js'
import { SandboxError } from '../errors/sandbox-error.js'
import { failpoint } from '../failpoint.js'
import type { SessionRecord } from '../session/session-record.js'
import { sealState } from '../session/session-state.js'
import { commitFork } from './commit-fork.js'
import type { HostContext } from './host-context.js'
import { hookHandle } from './open-turn.js'
import type { Turn } from './turn.js'
import { ReleaseSteps } from './release-steps.js'
import { engineOf, specOf, takeSnapshot } from './save-workspace.js'

const DEFAULT_PARK_MS = 15 * 60_000

/** What the steps before the record have brought. */
interface Saved {
  readonly after: AfterRelease
  readonly ref: SnapshotRef | null
  /** False: the sandbox holds the only copy of some work, and stays. */
  readonly safe: boolean
}

/**
 * Ends a turn, in the order of `contracts/session.ts`. Every step is attempted unless it could destroy the only copy of
 * something. Throws one `AggregateError` of all failures, after the last step.
 */
export async function releaseSession(
  context: HostContext,
  turn: Turn,
  options: ReleaseOptions,
): Promise<ReleaseResult> {
  const { claim, live } = turn
  const steps = new ReleaseSteps({ clock: context.clock, boundsMs: context.releaseBoundsMs, emit: live.emit })
  const after = options.afterRelease ?? turn.request.afterRelease ?? defaultAfter(turn)
  const { preStop } = turn.request.hooks ?? {}
  if (preStop !== undefined) await steps.run('hooks', async () => preStop(hookHandle(context, turn)))
  failpoint('release.hooks')
  live.moveTo('stopping')
  const held = !claim.keeper.lost.aborted && claim.lease.held()
  let compute: ReleaseResult['compute'] = 'left'
  if (held) compute = await takeDown(context, turn, { steps, after, signal: options.signal })
  else steps.failures.push(lostBeforeRelease(claim.slot))
  context.heartbeat.remove(claim.keeper)
  await steps.run(
    'lease',
    async () => turn.opened.sandbox[Symbol.asyncDispose](),
    async () => {
      claim.keeper.retire()
      await claim.lease.release()
    },
  )
  live.moveTo(steps.failures.length === 0 ? 'stopped' : 'failed')
  live.moveTo('closed')
  if (steps.failures.length > 0) throw new AggregateError(steps.failures, summary(claim.slot, steps.failures))
  const { record } = claim.keeper
  if (record.forkOf !== null && record.snapshot !== null) await commitFork(context, turn, record.snapshot)
  return { snapshot: record.snapshot, state: stateOf(context, record), compute }
}

/** Ends processes, saves, writes the record and deals with the compute. */
async function takeDown(
  context: HostContext,
  turn: Turn,
  with_: { readonly steps: ReleaseSteps; readonly after: AfterRelease; readonly signal: AbortSignal | undefined },
): Promise<ReleaseResult['compute']> {
  const { steps, after } = with_
  const { claim, live } = turn
  // Where nothing is saved and everything goes, removing the compute is what ends the processes.
  const onlyRemoved = after === 'destroy' && !engineOf(context, specOf(claim.keeper.record)).features.persistent
  if (!onlyRemoved) await steps.run('processes', () => live.endProcesses(after === 'park'))
  failpoint('release.processes')
  const saved = await save(context, turn, with_)
  failpoint('release.saved')
  context.heartbeat.remove(claim.keeper)
  const recorded = await steps.run('record', () =>
    claim.keeper.write((record) => committed(context, turn, record, saved)),
  )
  failpoint('release.recorded')
  if (!saved.safe || !recorded) {
    const reason = saved.safe ? 'the record could not be written' : 'the snapshot could not be taken'
    live.emit({ type: 'release.unsaved', slot: claim.slot, reason })
    return 'left'
  }
  const done = await steps.run('compute', () => endCompute(context, turn, after))
  failpoint('release.compute')
  return done ? COMPUTE_AFTER[after] : 'left'
}

const COMPUTE_AFTER: Readonly<Record<AfterRelease, ReleaseResult['compute']>> = {
  park: 'parked',
  stop: 'stopped',
  destroy: 'destroyed',
}

async function save(
  context: HostContext,
  turn: Turn,
  with_: { readonly steps: ReleaseSteps; readonly after: AfterRelease; readonly signal: AbortSignal | undefined },
): Promise<Saved> {
  const { steps, after } = with_
  const { claim, opened } = turn
  const { record } = claim.keeper
  const engine = engineOf(context, specOf(record))
  if (!engine.features.persistent) return { after, ref: record.snapshot, safe: true }
  const { sandbox } = opened
  const { freeze } = sandbox.features
  // Without a freeze the snapshot engine's own check for files that change while they are read still holds.
  if (freeze) await steps.run('freeze', () => sandbox.freeze())
  let ref: SnapshotRef | null = null
  const taken = await steps.run('snapshot', async (bound) => {
    const signal = with_.signal === undefined ? bound : AbortSignal.any([bound, with_.signal])
    ref = await takeSnapshot(context, engine, { record, hash: claim.hash, sandbox, signal })
  })
  failpoint('release.snapshot')
  if (freeze) await steps.run('thaw', () => sandbox.thaw())
  return { after, ref: ref ?? record.snapshot, safe: taken }
}

function committed(context: HostContext, turn: Turn, record: SessionRecord, saved: Saved): SessionRecord {
  const { after, ref, safe } = saved
  const nowMs = Math.round(context.clock.nowMs())
  const gone = safe && after === 'destroy'
  return {
    ...record,
    phase: 'committed',
    owner: null,
    snapshot: ref,
    unsaved: !safe,
    sandboxState: gone ? null : turn.opened.sandbox.state,
    compute: gone ? 'none' : safe && after === 'stop' ? 'stopped' : 'parked',
    // With the compute gone only a snapshot can stand for the workspace that was ready.
    workspaceReady: record.workspaceReady && (!gone || ref !== null),
    expiresAtMs: gone ? null : nowMs + (turn.request.parkMs ?? DEFAULT_PARK_MS),
    updatedAtMs: nowMs,
  }
}

async function endCompute(context: HostContext, turn: Turn, after: AfterRelease): Promise<void> {
  const { claim, opened } = turn
  claim.keeper.assertHeld()
  if (after === 'park') return context.parked.add(claim.slot, claim.keeper.version)
  if (after === 'stop') return opened.sandbox.stop()
  await opened.client.delete(opened.sandbox.state)
  const { record } = claim.keeper
  // Nobody can ever ask again for the slot of a session that has no scope and left nothing.
  if (record.snapshot === null && claim.slot.startsWith('sessions/')) await claim.keeper.delete()
}

function defaultAfter(turn: Turn): AfterRelease {
  if (turn.claim.keeper.record.forkOf !== null) return 'destroy'
  return turn.opened.sandbox.features.reattach ? 'park' : 'stop'
}

function stateOf(context: HostContext, record: SessionRecord): SessionState | null {
  if (record.snapshot === null && record.sandboxState === null) return null
  return sealState(
    {
      version: 1,
      backend: record.backend,
      sessionId: record.sessionId,
      slot: record.slot,
      sandbox: record.sandboxState,
      incarnation: record.incarnation,
      snapshot: record.snapshot,
    },
    context.stateKey,
  )
}

function lostBeforeRelease(slot: string): SandboxError<'lease_lost'> {
  return new SandboxError(
    'lease_lost',
    `${slot} was taken over by another holder before it was released; what this one did since then is not saved`,
    { key: slot },
  )
}

function summary(slot: string, failures: readonly unknown[]): string {
  const first = failures[0]
  return `${slot} could not be released cleanly: ${first instanceof Error ? first.message : 'see errors'}`
}
