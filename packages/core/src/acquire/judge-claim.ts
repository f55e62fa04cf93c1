import type { ExecutionGuard } from '../contracts/guard.js'
import type { SessionRecord } from '../session/session-record.js'
import { judgeOwner, sameMachine, sameProcess } from '../store/owner-identity.js'

/** What the record says of its holder, seen by somebody who holds the guard's lease for the slot. */
export type ClaimJudgement = 'free' | 'left-behind' | 'held'

export interface JudgeClaimRequest {
  readonly record: SessionRecord
  readonly reach: ExecutionGuard['reach']
  /** Of the host that asks. */
  readonly hostId: string
  readonly nowMs: number
}

/**
 * Whether a slot may be claimed. The guard's lease is proof only among those whom the guard reaches; beyond, a holder is
 * gone when its process is known to be dead or its last sign of life is too old.
 */
export function judgeClaim(request: JudgeClaimRequest): ClaimJudgement {
  const { record, reach, hostId, nowMs } = request
  if (record.owner === null) return 'free'
  if (reach === 'cluster') return 'left-behind'
  const holder = record.owner.process
  if (reach === 'machine' && sameMachine(holder)) return 'left-behind'
  // Another host of this process may have a guard of its own, so only our own lease proves something.
  if (reach === 'process' && sameProcess(holder) && record.owner.host === hostId) return 'left-behind'
  if (judgeOwner(holder) === 'dead') return 'left-behind'
  return record.expiresAtMs !== null && record.expiresAtMs < nowMs ? 'left-behind' : 'held'
}
