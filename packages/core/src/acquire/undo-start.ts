import { isSandboxError } from '../errors/sandbox-error.js'
import type { Claim } from './turn.js'
import type { HostContext } from './host-context.js'
import type { OpenedSandbox } from './turn.js'

export interface UndoStartRequest {
  readonly opened: OpenedSandbox | undefined
  readonly error: unknown
}

/**
 * Takes a start that failed back: what was made in this turn goes, what was there before stays, and the slot is free
 * again. Returns what to throw: the error itself, or an `AggregateError` of it and of what could not be undone.
 */
export async function undoStart(context: HostContext, claim: Claim, request: UndoStartRequest): Promise<unknown> {
  const { opened, error } = request
  const failures: unknown[] = []
  const attempt = async (step: () => Promise<unknown>): Promise<void> => {
    await step().catch((failure: unknown) => failures.push(failure))
  }
  const lost = claim.keeper.lost.aborted || isSandboxError(error, 'lease_lost')
  const removable = opened !== undefined && opened.created && !lost
  if (opened !== undefined) await attempt(async () => opened.sandbox[Symbol.asyncDispose]())
  if (removable) await attempt(() => opened.client.delete(opened.sandbox.state))
  const made = removable ? (failures.length === 0 ? 'removed' : 'stuck') : 'nothing'
  if (!lost) await attempt(() => giveBack(context, claim, made))
  claim.keeper.retire()
  await claim.lease.release()
  if (failures.length === 0) return error
  return new AggregateError(
    [error, ...failures],
    'the session could not be started, and not all of the attempt could be undone',
  )
}

/** The record as it was, under the fence of this turn, with no owner. */
async function giveBack(context: HostContext, claim: Claim, made: 'removed' | 'stuck' | 'nothing'): Promise<void> {
  const removed = made === 'removed'
  const { keeper, prior } = claim
  const updatedAtMs = Math.round(context.clock.nowMs())
  const { record } = keeper
  const empty = removed || (made === 'nothing' && record.compute === 'none')
  if (empty && record.snapshot === null && (removed || !record.workspaceReady)) {
    if (claim.slot.startsWith('sessions/')) return keeper.delete()
    return keeper.write((now) => ({
      ...now,
      phase: 'deleted',
      owner: null,
      expiresAtMs: null,
      sandboxState: null,
      updatedAtMs,
    }))
  }
  // A holder that never released stays on record, so that the next claim still ends what it left running.
  const leftBehind = claim.tookOver && !removed && prior !== null
  return keeper.write((now) => ({
    ...now,
    phase: leftBehind ? prior.phase : 'committed',
    owner: leftBehind ? prior.owner : null,
    expiresAtMs: prior?.expiresAtMs ?? null,
    // What could not be removed is found again by its name.
    ...(made === 'stuck' ? { compute: 'parked' as const } : {}),
    ...(removed
      ? { sandboxState: null, compute: 'none' as const, workspaceReady: now.snapshot !== null && now.workspaceReady }
      : {}),
    updatedAtMs,
  }))
}
