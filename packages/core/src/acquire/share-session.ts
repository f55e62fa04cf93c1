import type { SandboxSession } from '../contracts/session.js'
import { SandboxError } from '../errors/sandbox-error.js'
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
    return handOut(await existing.opening, existing)
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
