import type { AcquireRequest } from '../contracts/host.js'
import type { SessionState } from '../contracts/session.js'
import { SandboxError } from '../errors/sandbox-error.js'
import { parseRecord } from '../session/session-record.js'
import { openState } from '../session/session-state.js'
import type { ClaimSeed } from './claim-slot.js'
import type { HostContext } from './host-context.js'
import { recordKey, sessionSlotKey, slotHash } from './slot-key.js'

/** Which slot is claimed, and what a workspace starts from beside its record. */
export interface SeededSlot {
  /** Null: a slot of its own. */
  readonly slot: string | null
  readonly sessionId?: string
  readonly seed?: ClaimSeed
}

/** Turns the sources of a request, a state or a snapshot, into pointers. Throws `state_corrupt`, `busy`. */
export async function seedSlot(
  context: HostContext,
  request: AcquireRequest,
  slot: string | null,
): Promise<SeededSlot> {
  if (request.state !== undefined) return seedFromState(context, openState(request.state, context.stateKey), slot)
  if (request.snapshot === undefined) return { slot }
  return { slot, seed: { snapshot: request.snapshot, sandbox: null, over: 'nothing' } }
}

/**
 * A state with a scope replaces the pointers of that slot. Without one it goes on where the session was: in the slot of
 * its own. From the slot of a scope it takes only the snapshot, for the sandbox belongs to that slot's record.
 */
async function seedFromState(context: HostContext, state: SessionState, slot: string | null): Promise<SeededSlot> {
  const sandbox = { state: state.sandbox, incarnation: state.incarnation, backend: state.backend }
  const seed: ClaimSeed = { snapshot: state.snapshot, sandbox: state.sandbox === null ? null : sandbox, over: 'record' }
  if (slot !== null) return { slot, seed }
  const entry = await context.states.get(recordKey(slotHash(state.slot)))
  const own = sessionSlotKey(state.sessionId)
  if (entry === undefined) return { slot: own, sessionId: state.sessionId, seed }
  const record = parseRecord(state.slot, entry.value)
  if (state.slot === own) return { slot: own, sessionId: state.sessionId }
  if (record.owner !== null) {
    throw new SandboxError('busy', `the sandbox of this state belongs to ${state.slot}, which is in use`, {
      slot: state.slot,
      holder: record.owner.host,
    })
  }
  return { slot: null, seed: { snapshot: state.snapshot, sandbox: null, over: 'nothing' } }
}
