import type { SandboxSummary } from '../contracts/client.js'
import type { SessionRecord } from '../session/session-record.js'

export interface JudgeSandboxRequest {
  readonly summary: Pick<SandboxSummary, 'name' | 'identity' | 'createdAtMs'>
  /** The record of its slot, read under the slot's lease; null when there is none. */
  readonly record: SessionRecord | null
  /** Whether the record's owner may still be at work. */
  readonly held: boolean
  readonly nowMs: number
  readonly graceMs: number
}

/** What becomes of a sandbox. `rescue`: it holds work that no snapshot holds. */
export type SandboxVerdict =
  | { readonly kind: 'keep'; readonly reason: string }
  | { readonly kind: 'remove'; readonly reason: string }
  | { readonly kind: 'rescue'; readonly reason: string }

/** Judges one sandbox of our deployment. Pure. */
export function judgeSandbox(request: JudgeSandboxRequest): SandboxVerdict {
  const { summary, record, held, nowMs, graceMs } = request
  if (record === null || record.phase === 'deleted') {
    if (summary.createdAtMs !== null && nowMs - summary.createdAtMs < graceMs) return keep('no record yet')
    // Records are written before sandboxes are made, so a lost store is likelier than a sandbox that nobody ever used.
    return record === null ? rescue('it has no record') : remove('its slot was deleted')
  }
  if (held) return keep('in use')
  if (record.sandboxName !== summary.name && record.sessionId !== summary.identity.sessionId) {
    // One session follows another only where nothing was left: the record of this one was lost before its slot was used again.
    return rescue('it belongs to an earlier session of its slot, whose record is lost')
  }
  if (record.sandboxName !== summary.name) return remove('its slot has another sandbox now')
  if (record.compute === 'none' && record.phase === 'committed') return remove('its slot gave it up')
  if (record.phase === 'claimed' && !record.workspaceReady) return remove('it was never ready')
  if (record.unsaved || record.phase !== 'committed') return rescue('its last holder died before its work was saved')
  if (record.expiresAtMs !== null && record.expiresAtMs > nowMs) return keep('parked')
  return remove('its parking time is over')
}

const keep = (reason: string): SandboxVerdict => ({ kind: 'keep', reason })
const remove = (reason: string): SandboxVerdict => ({ kind: 'remove', reason })
const rescue = (reason: string): SandboxVerdict => ({ kind: 'rescue', reason })
