import { z } from 'zod'
import { SandboxError } from '../errors/sandbox-error.js'
import { parseRecord, snapshotRefSchema } from '../session/session-record.js'
import type { HostContext } from './host-context.js'
import { engineOf } from './save-workspace.js'
import { recordKey, slotHash } from './slot-key.js'

const pinSchema = z.strictObject({ slot: z.string().min(1).max(1024), snapshot: snapshotRefSchema })

/**
 * Removes the snapshots, and the records, of forks that lost and whose time is over. Reads no more than those. Returns what
 * went wrong, one for each that stays.
 */
export async function reapForkPins(context: HostContext): Promise<readonly unknown[]> {
  const failures: unknown[] = []
  const nowMs = context.clock.nowMs()
  let cursor: string | undefined
  do {
    const page = await context.states.list('forks/', cursor === undefined ? {} : { cursor })
    for (const key of page.keys) {
      // Keys begin with the moment of their expiry, so the first one that is not due ends the sweep.
      if (Number(key.slice('forks/'.length).split('-')[0]) > nowMs) return failures
      await removePin(context, key).catch((error: unknown) => failures.push(error))
    }
    cursor = page.cursor
  } while (cursor !== undefined)
  return failures
}

async function removePin(context: HostContext, key: string): Promise<void> {
  const entry = await context.states.get(key)
  if (entry === undefined) return
  const parsed = pinSchema.safeParse(entry.value)
  if (!parsed.success) {
    const reason = parsed.error.issues[0]?.message ?? 'it does not follow its schema'
    throw new SandboxError('state_corrupt', `the pin ${key} cannot be used: ${reason}. Repair or delete it.`, {
      key,
      reason,
    })
  }
  const { slot, snapshot } = parsed.data
  const recordAt = recordKey(slotHash(slot))
  const held = await context.states.get(recordAt)
  if (held !== undefined) {
    const record = parseRecord(slot, held.value)
    // A pin is worth no more than the record of its fork says: it must not reach the work of any other slot.
    if (record.forkOf === null || record.owner !== null || record.snapshot?.id !== snapshot.id) {
      const reason = 'it does not belong to a fork that lost'
      throw new SandboxError('state_corrupt', `the pin ${key} cannot be used: ${reason}. Delete it.`, { key, reason })
    }
    await engineOf(context, snapshot).delete(snapshot)
    await context.states.delete(recordAt, { ifVersion: held.version })
  }
  await context.states.delete(key)
}
