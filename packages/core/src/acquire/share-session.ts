import type { SandboxSession } from '../contracts/session.js'
import { SandboxError } from '../errors/sandbox-error.js'
import { diffManifests } from '../manifest/diff-manifests.js'
import type { HostContext, SharedSession } from './host-context.js'
import { openTurn } from './open-turn.js'
import type { DecidedRequest } from './open-turn.js'
import type { Turn } from './turn.js'
import { seedSlot } from './seed-slot.js'

export interface HandOutShared {
  /** A handle whose release is counted: only the last one ends the turn. */
  (turn: Turn, shared: SharedSession): SandboxSession
}

/** One live session for all who share the slot on this host, under one lease. Each gets a handle of its own. */
export async function shareSession(
  context: HostContext,
  decided: DecidedRequest,
  handOut: HandOutShared,
): Promise<SandboxSession> {
  const { slot } = decided
  if (slot === null) {
    throw new SandboxError('invalid_argument', "acquire: concurrency 'share' needs a scope that others can name too", {
      argument: 'concurrency',
      reason: 'there is no scope to share',
    })
  }
  const existing = context.live.shared.get(slot)
  if (existing !== undefined) {
    existing.holders += 1
    const turn = await existing.opening
    try {
      assertSamePlan(turn, decided)
    } catch (error) {
      existing.holders -= 1
      throw error
    }
    return handOut(turn, existing)
  }
  const opening = seedSlot(context, decided.request, slot).then((from) => openTurn(context, decided, from))
  const shared: SharedSession = { opening, holders: 1 }
  context.live.shared.set(slot, shared)
  try {
    return handOut(await opening, shared)
  } catch (error) {
    context.live.shared.delete(slot)
    throw error
  }
}

/** Who joins gets what is there. What asks for something else is told so instead of being ignored. */
function assertSamePlan(turn: Turn, decided: DecidedRequest): void {
  const { request, manifest, backend, slot } = decided
  const changed = [
    ...(request.backend !== undefined && backend !== turn.live.backendId ? ['backend'] : []),
    ...(request.manifest !== undefined && !diffManifests(turn.live.manifest, manifest).equal ? ['manifest'] : []),
    ...(['state', 'snapshot'] as const).filter((source) => request[source] !== undefined),
  ]
  if (changed.length === 0) return
  throw new SandboxError(
    'plan_changed',
    `${slot ?? ''} is shared already, with another ${changed.join(' and ')}; leave that out, or wait until it is released`,
    { changed },
  )
}
