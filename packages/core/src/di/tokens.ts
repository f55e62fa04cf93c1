import type { BlobStore } from '../contracts/blob-store.js'
import type { Capability } from '../contracts/capability.js'
import type { SandboxClient } from '../contracts/client.js'
import type { Clock } from '../contracts/clock.js'
import type { ExecutionGuard } from '../contracts/guard.js'
import type { Logger } from '../contracts/logger.js'
import type { EventSink, SandboxEventBody } from '../contracts/observer.js'
import type { SnapshotEngine } from '../contracts/snapshot.js'
import type { StateStore } from '../contracts/state-store.js'

declare const service: unique symbol

/** Names a service and its type. A symbol of the global registry, so that duplicate copies of this package agree. */
export type Token<T> = symbol & { readonly [service]?: T }

function token<T>(name: string): Token<T> {
  return Symbol.for(`@cofferdam/core/${name}`) as Token<T>
}

/** Where the time comes from. Always there. */
export const CLOCK: Token<Clock> = token('Clock')
/** Where warnings go. Always there. */
export const LOGGER: Token<Logger> = token('Logger')
/** Reports an event of the host. Always there. */
export const EMIT: Token<(event: SandboxEventBody) => void> = token('Emit')
/** Name of the deployment. Always there. */
export const DEPLOYMENT: Token<string> = token('Deployment')
/** Absolute folder that relative host paths of the application begin in. Always there. */
export const BASE_DIR: Token<string> = token('BaseDir')
/** Absolute folder for what the host keeps: records, leases, snapshots, and sandboxes of backends on this machine. Always there. */
export const DATA_DIR: Token<string> = token('DataDir')
/** A backend. Several may be registered; each by its own id. */
export const SANDBOX_CLIENT: Token<SandboxClient> = token('SandboxClient')
/** A snapshot engine. Several; each by its kind. */
export const SNAPSHOT_ENGINE: Token<SnapshotEngine> = token('SnapshotEngine')
/** The store of records. One. */
export const STATE_STORE: Token<StateStore> = token('StateStore')
/** The store of snapshot bytes. One. */
export const BLOB_STORE: Token<BlobStore> = token('BlobStore')
/** The name that the blob store was registered under; stands in snapshot refs. */
export const BLOB_STORE_NAME: Token<string> = token('BlobStoreName')
/** The guard of the slots. One. */
export const EXECUTION_GUARD: Token<ExecutionGuard> = token('ExecutionGuard')
/** A capability that agents can name by its type. Several. */
export const CAPABILITY: Token<Capability> = token('Capability')
/** A receiver of events. Several. */
export const EVENT_SINK: Token<EventSink> = token('EventSink')
