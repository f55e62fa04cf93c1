import type { AcquireRequest } from '../contracts/host.js'
import type { MountPlan, SandboxClient } from '../contracts/client.js'
import type { Lease } from '../contracts/guard.js'
import type { Sandbox } from '../contracts/sandbox.js'
import type { LiveSession } from '../session/live-session.js'
import type { SessionRecord } from '../session/session-record.js'
import type { RecordKeeper } from './record-keeper.js'

/** A slot that is ours. */
export interface Claim {
  readonly slot: string
  readonly hash: string
  readonly lease: Lease
  readonly keeper: RecordKeeper
  /** The record as it was before, or what the seed made of it; null for a new slot. */
  readonly prior: SessionRecord | null
  /** The holder before us never released. */
  readonly tookOver: boolean
}

/** A sandbox that is started under our fence. */
export interface OpenedSandbox {
  readonly sandbox: Sandbox
  readonly client: SandboxClient
  /** Those that it has. */
  readonly mounts: readonly MountPlan[]
  /** Made in this turn: nothing is lost when it is removed again. */
  readonly created: boolean
}

/** One use of a slot, from claim to release. */
export interface Turn {
  readonly claim: Claim
  readonly opened: OpenedSandbox
  readonly live: LiveSession
  readonly request: AcquireRequest
}
