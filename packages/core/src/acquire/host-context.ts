import type { SandboxClient } from '../contracts/client.js'
import type { Clock } from '../contracts/clock.js'
import type { ExecutionGuard } from '../contracts/guard.js'
import type { SandboxSession } from '../contracts/session.js'
import type { Logger } from '../contracts/logger.js'
import type { SandboxEvent, SandboxEventBody } from '../contracts/observer.js'
import type { SnapshotEngine, SnapshotSpec } from '../contracts/snapshot.js'
import type { StateStore } from '../contracts/state-store.js'
import type { Redactor } from '../redact/redactor.js'
import type { Turn } from './turn.js'
import type { RecordOwner } from '../session/session-record.js'
import type { HostAccess } from '../workspace/host-access.js'
import type { Heartbeat } from './heartbeat.js'
import type { ParkedSandboxes } from './parked-sandboxes.js'
import type { StepBounds } from './release-steps.js'

/** What a host is made of, as far as acquiring and releasing need it. Composed once by `createHost`. */
export interface HostContext {
  readonly deployment: string
  /** Unique for this host object, so that two hosts in one process do not take each other for themselves. */
  readonly hostId: string
  readonly owner: RecordOwner
  readonly clock: Clock
  readonly logger: Logger
  readonly emit: (sessionId: string | null, event: SandboxEventBody) => void
  readonly subscribe: (listener: (event: SandboxEvent) => void) => () => void
  readonly backends: ReadonlyMap<string, SandboxClient>
  readonly defaultBackend: string
  readonly engines: ReadonlyMap<string, SnapshotEngine>
  readonly snapshots: SnapshotSpec
  readonly states: StateStore
  readonly guard: ExecutionGuard
  readonly redactor: Redactor
  readonly secrets: (ref: string) => Promise<string>
  readonly hostAccess: HostAccess
  readonly stateKey: Uint8Array | null
  /** Life of a lease without a sign of its holder. */
  readonly leaseTtlMs: number
  readonly releaseBoundsMs: StepBounds
  readonly live: LiveSessions
  readonly parked: ParkedSandboxes
  readonly heartbeat: Heartbeat
}

/** The sessions of a host that are not closed. */
export interface LiveSessions {
  /** By handle, in order of acquiring. */
  readonly handles: Set<SandboxSession>
  /** Shared sessions by slot, with the number of their handles. */
  readonly shared: Map<string, SharedSession>
  /** Acquires that wait for their slot; a drain aborts them. */
  readonly waiting: Set<AbortController>
  /** Nobody waits for a slot any more. */
  draining: boolean
}

export interface SharedSession {
  readonly opening: Promise<Turn>
  holders: number
}
