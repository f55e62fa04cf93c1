import type { Manifest, ManifestInput } from '../manifest/manifest.js'
import type { JsonValue } from '../errors/error-details.js'
import type { Limits, NetworkPlan } from './client.js'
import type { FeatureRequirements } from './features.js'
import type { AfterRelease, SandboxSession } from './session.js'
import type { SandboxEvent } from './observer.js'
import type { SnapshotRef, SnapshotSpec } from './snapshot.js'

/** Whose workspace it is: exactly one member, and the tenant if there are several. */
export type Scope =
  | { readonly session: string; readonly tenant?: string }
  | { readonly user: string | undefined; readonly tenant?: string }
  | { readonly agent: string | undefined; readonly tenant?: string }
  | { readonly global: true; readonly tenant?: string }

/** Hooks around a session. What a hook throws fails the start; at release it is collected and never skips a later step. */
export interface SessionHooks {
  /** The workspace is ready; nobody has the session yet. */
  readonly afterStart?: (session: SandboxSession) => Promise<void> | void
  /** Release has begun; commands and files still work. */
  readonly preStop?: (session: SandboxSession) => Promise<void> | void
}

/** What `host.acquire` is asked for. Without a source it uses the slot's record, or starts afresh. */
export interface AcquireRequest {
  /** Id of a registered backend. Default: the host's default backend. */
  readonly backend?: string
  /** Default: none, the slot is the session itself. */
  readonly scope?: Scope
  /** A scope without its value: a fresh session, the session scope of `fallbackSession`, or an error. Default `fresh`. */
  readonly onMissingKey?: 'fresh' | 'fallback' | 'error'
  /** Session value for `onMissingKey: 'fallback'`. */
  readonly fallbackSession?: string
  /** Contents of a fresh workspace, and today's mounts, environment, projections. Default: an empty one. */
  readonly manifest?: ManifestInput | Manifest
  /** A live session of the caller: borrowed. */
  readonly session?: SandboxSession
  /** State returned by an earlier release. Untrusted. */
  readonly state?: JsonValue
  /** Seeds a fresh workspace. */
  readonly snapshot?: SnapshotRef
  /** How the workspace is saved. Default: the host's. */
  readonly snapshots?: SnapshotSpec
  /** What two uses of one slot do. Default `exclusive`. */
  readonly concurrency?: 'exclusive' | 'fork' | 'share'
  /** How long to wait for the slot. Default: until `signal`. 0 fails at once with `busy`. */
  readonly waitMs?: number
  readonly afterRelease?: AfterRelease
  /** A parked sandbox is kept this long. Default 15 minutes. */
  readonly parkMs?: number
  /** Snapshot of a fork that lost stays this long. Default 24 hours. */
  readonly forkTtlMs?: number
  readonly require?: FeatureRequirements
  readonly limits?: Partial<Limits>
  /** Default `{ kind: 'none' }` where the backend can, else `open`. */
  readonly network?: NetworkPlan
  readonly users?: 'off' | 'on'
  readonly hooks?: SessionHooks
  readonly signal?: AbortSignal
}

export interface ReapRequest {
  /** What happens to work that no snapshot holds. Default `save`. */
  readonly unsaved?: 'save' | 'keep' | 'discard'
  /** Compute without a record is left alone for this long. Default 5 minutes. */
  readonly graceMs?: number
  readonly signal?: AbortSignal
}

export interface ReapResult {
  readonly removed: readonly ReapedSandbox[]
  readonly kept: readonly ReapedSandbox[]
  /** One for each sandbox or record that could not be judged or removed. The rest was done all the same. */
  readonly failures: readonly unknown[]
}

export interface ReapedSandbox {
  readonly backend: string
  readonly sandbox: string
  readonly reason: string
}

/** The composition root, as users hold it. Disposal drains all sessions, then disposes everything in reverse order. */
export interface Host extends AsyncDisposable {
  /** Names the installation; sandboxes carry it as a label. */
  readonly deployment: string
  readonly backends: readonly string[]
  acquire(request?: AcquireRequest): Promise<SandboxSession>
  /** Sessions of this host that are not closed. */
  sessions(): readonly SandboxSession[]
  reap(request?: ReapRequest): Promise<ReapResult>
  onEvent(listener: (event: SandboxEvent) => void): () => void
  /** Releases all sessions within the deadline (default 25 000), then disposes. Further acquires are `not_running`. */
  drain(options?: { readonly deadlineMs?: number }): Promise<void>
}
