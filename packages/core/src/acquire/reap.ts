import type { ReapedSandbox, ReapRequest, ReapResult } from '../contracts/host.js'
import type { SandboxClient, SandboxSummary } from '../contracts/client.js'
import type { Lease } from '../contracts/guard.js'
import { assertNotAborted } from '../errors/assert-not-aborted.js'
import { isSandboxError, SandboxError } from '../errors/sandbox-error.js'
import { failpoint } from '../failpoint.js'
import { parseRecord, recordToJson } from '../session/session-record.js'
import type { SessionRecord } from '../session/session-record.js'
import type { HostContext } from './host-context.js'
import { judgeClaim } from './judge-claim.js'
import { judgeSandbox } from './judge-sandbox.js'
import { reapForkPins } from './reap-fork-pins.js'
import { rescueWorkspace } from './rescue-workspace.js'
import { recordKey } from './slot-key.js'

const DEFAULT_GRACE_MS = 5 * 60_000

/** What one sweep has found so far. */
interface Sweep {
  readonly context: HostContext
  readonly unsaved: NonNullable<ReapRequest['unsaved']>
  readonly graceMs: number
  readonly signal: AbortSignal | undefined
  readonly removed: ReapedSandbox[]
  readonly kept: ReapedSandbox[]
  readonly failures: unknown[]
}

/** A sandbox under judgement, with the slot's lease held. */
interface Judged {
  readonly client: SandboxClient
  readonly summary: SandboxSummary
  readonly record: SessionRecord | null
  /** Of the record as it was read. */
  readonly version: string | null
  readonly lease: Lease
}

/**
 * Removes compute of this deployment that nobody owns any more: expired, left behind by a dead holder, or without a
 * record. Its cost grows with what is alive. Work that no snapshot holds is saved first, unless told otherwise.
 */
export async function reap(context: HostContext, request: ReapRequest): Promise<ReapResult> {
  const sweep: Sweep = {
    context,
    unsaved: request.unsaved ?? 'save',
    graceMs: request.graceMs ?? DEFAULT_GRACE_MS,
    signal: request.signal,
    removed: [],
    kept: [],
    failures: [],
  }
  for (const client of context.backends.values()) await reapBackend(sweep, client)
  try {
    sweep.failures.push(...(await reapForkPins(context)))
  } catch (error) {
    sweep.failures.push(error)
  }
  const { removed, kept, failures } = sweep
  return { removed, kept, failures }
}

async function reapBackend(sweep: Sweep, client: SandboxClient): Promise<void> {
  try {
    const filter = { deployment: sweep.context.deployment }
    for await (const summary of client.list(filter, sweep.signal === undefined ? {} : { signal: sweep.signal })) {
      assertNotAborted(sweep.signal, 'reap')
      await reapSandbox(sweep, client, summary).catch((error: unknown) => sweep.failures.push(error))
    }
  } catch (error) {
    if (isSandboxError(error, 'aborted')) throw error
    sweep.failures.push(error)
  }
}

async function reapSandbox(sweep: Sweep, client: SandboxClient, summary: SandboxSummary): Promise<void> {
  const { context } = sweep
  const key = recordKey(summary.identity.slotHash)
  const before = await context.states.get(key)
  // The slot's own key names its lease; a sandbox without a record has only its label.
  const slot = slotOf(before?.value) ?? key
  let lease: Lease
  try {
    lease = await context.guard.enter(slot, { waitMs: 0, ttlMs: context.leaseTtlMs })
  } catch (error) {
    if (!isSandboxError(error, 'lease_timeout')) throw error
    return report(sweep, summary, { client, removed: false, reason: 'in use' })
  }
  try {
    const entry = await context.states.get(key)
    const record = entry === undefined ? null : parseRecord(slot, entry.value)
    await reapUnderLease(sweep, { client, summary, record, version: entry?.version ?? null, lease })
  } finally {
    await lease.release()
  }
}

async function reapUnderLease(sweep: Sweep, judged: Judged): Promise<void> {
  const { context } = sweep
  const { client, summary, record } = judged
  const verdict = judgeSandbox({
    summary,
    record,
    held: record !== null && heldByOther(context, record),
    nowMs: context.clock.nowMs(),
    graceMs: sweep.graceMs,
  })
  if (verdict.kind === 'keep' || (verdict.kind === 'rescue' && sweep.unsaved === 'keep')) {
    return report(sweep, summary, { client, removed: false, reason: verdict.reason })
  }
  failpoint('reap.judged')
  if (verdict.kind === 'rescue' && sweep.unsaved === 'save') {
    const saved = await rescueWorkspace(context, judged)
    if (!saved)
      return report(sweep, summary, { client, removed: false, reason: `${verdict.reason}; it cannot be saved` })
    failpoint('reap.saved')
  } else {
    await giveUp(context, judged)
  }
  assertStillOurs(judged.lease)
  await client.delete(summary.state)
  failpoint('reap.deleted')
  report(sweep, summary, { client, removed: true, reason: verdict.reason })
}

/** The record stops pointing to the sandbox before the sandbox goes. */
async function giveUp(context: HostContext, judged: Judged): Promise<void> {
  const { record, version, summary } = judged
  if (record === null || version === null || record.sandboxName !== summary.name) return
  const next: SessionRecord = {
    ...record,
    phase: 'committed',
    owner: null,
    compute: 'none',
    sandboxState: null,
    unsaved: false,
    workspaceReady: record.workspaceReady && record.snapshot !== null,
    expiresAtMs: null,
    updatedAtMs: Math.round(context.clock.nowMs()),
  }
  const key = recordKey(summary.identity.slotHash)
  // Nobody can ever ask again for the slot of a session that has no scope and left nothing.
  if (next.snapshot === null && record.slot.startsWith('sessions/'))
    return context.states.delete(key, { ifVersion: version })
  await context.states.put(key, recordToJson(next), { ifVersion: version })
}

function heldByOther(context: HostContext, record: SessionRecord): boolean {
  return (
    judgeClaim({ record, reach: context.guard.reach, hostId: context.hostId, nowMs: context.clock.nowMs() }) === 'held'
  )
}

function slotOf(value: unknown): string | undefined {
  const slot = (value as { slot?: unknown } | undefined)?.slot
  return typeof slot === 'string' && slot !== '' ? slot : undefined
}

function assertStillOurs(lease: Lease): void {
  if (lease.held()) return
  throw new SandboxError('lease_lost', 'the lease of the slot ran out before its sandbox was removed; reap again', {
    key: lease.key,
  })
}

function report(
  sweep: Sweep,
  summary: SandboxSummary,
  what: { readonly client: SandboxClient; readonly removed: boolean; readonly reason: string },
): void {
  const { reason, removed } = what
  const backend = what.client.backendId
  const sandbox = summary.name
  ;(removed ? sweep.removed : sweep.kept).push({ backend, sandbox, reason })
  sweep.context.emit(summary.identity.sessionId, {
    type: removed ? 'reap.removed' : 'reap.kept',
    backend,
    sandbox,
    reason,
  })
}
