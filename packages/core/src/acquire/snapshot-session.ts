import type { SnapshotRef } from '../contracts/snapshot.js'
import type { HostContext } from './host-context.js'
import type { Turn } from './turn.js'
import { saveWorkspace } from './save-workspace.js'

/** Saves the workspace of a running session and points the record to it. */
export async function snapshotSession(
  context: HostContext,
  turn: Turn,
  signal: AbortSignal | undefined,
): Promise<SnapshotRef | null> {
  const { claim, opened, live } = turn
  const { keeper } = claim
  keeper.assertHeld()
  const ref = await saveWorkspace(context, {
    record: keeper.record,
    hash: claim.hash,
    sandbox: opened.sandbox,
    ...(signal === undefined ? {} : { signal }),
  })
  if (ref === null) return null
  await keeper.write((record) => ({ ...record, snapshot: ref, updatedAtMs: Math.round(context.clock.nowMs()) }))
  live.snapshot = ref
  return ref
}
