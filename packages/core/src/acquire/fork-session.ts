import type { SandboxSession } from '../contracts/session.js'
import { SandboxError } from '../errors/sandbox-error.js'
import { parseRecord } from '../session/session-record.js'
import type { HostContext } from './host-context.js'
import { openTurn } from './open-turn.js'
import type { DecidedRequest } from './open-turn.js'
import type { Turn } from './turn.js'
import { recordKey, slotHash } from './slot-key.js'

/** A session on a sandbox of its own, from the last snapshot of a slot. The slot itself is neither claimed nor waited for. */
export async function forkSession(
  context: HostContext,
  decided: DecidedRequest,
  handOut: (turn: Turn) => SandboxSession,
): Promise<SandboxSession> {
  const { slot } = decided
  if (slot === null) return handOut(await openTurn(context, decided, { slot: null }))
  const entry = await context.states.get(recordKey(slotHash(slot)))
  const record = entry === undefined ? null : parseRecord(slot, entry.value)
  if (entry === undefined || record === null || record.snapshot === null) {
    throw new SandboxError(
      'snapshot_not_found',
      `${slot} has no snapshot to fork from; acquire and release it once, or call session.snapshot()`,
      { snapshot: slot },
    )
  }
  const turn = await openTurn(
    context,
    { ...decided, slot: null },
    {
      slot: null,
      seed: { snapshot: record.snapshot, sandbox: null, over: 'nothing', ready: true },
      forkOf: { slot, version: entry.version },
    },
  )
  return handOut(turn)
}
