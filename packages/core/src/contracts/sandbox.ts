import type { JsonValue } from '../errors/error-details.js'
import type { BackendFeatures } from './features.js'
import type { SandboxFiles } from './files.js'
import type { AttachedProcess, ProcessInfo, SandboxProcess, SpawnRequest } from './process.js'

/**
 * # The sandbox: what a backend implements
 *
 * A **sandbox** is one live environment of a provider: processes, files and perhaps a network. A **client**
 * (`contracts/client.ts`) makes, finds and removes sandboxes. A **session** (`contracts/session.ts`) is what users hold:
 * core builds it on a sandbox and owns everything between — validation, policy, manifests, snapshots, events. So what
 * stands here is small, and its arguments arrive checked and complete.
 *
 * ## Life
 *
 * ```
 *   client.create ─▶ created ──start(fence)──▶ running ◀──unpause── paused
 *   client.resume ─▶ (where it stands)          │  └──────pause──────▶ │
 *                                               stop                  stop
 *                                                ▼                     │
 *                                             stopped ◀────────────────┘
 *                              start(fence) ──▶ running again (workspace there only with persistentWorkspace)
 *   any state ──shutdown──▶ gone        disposal lets go of the handle and leaves the sandbox as it is
 * ```
 *
 * - No command of a user runs before `start`. `start` is idempotent, and concurrent calls share one start.
 * - `start` carries the **fence**: a number from 0 to 2^64 - 1 that grows with each holder of the slot. A fence lower than
 *   the highest one that this sandbox has seen is `lease_lost`. So is, through the handle of a holder who was **overtaken**
 *   (somebody has started the sandbox with a higher fence since), every later call that changes anything: `spawn`, writes,
 *   `freeze`, `thaw`, `pause`, `unpause`, `endpoint`, `stop` and `shutdown`, for a holder who slept must not end the work of
 *   the one after it. Disposal lets go of such a handle like of any other. With `features.fencing` the sandbox itself sees
 *   to this; without it core stops a sandbox that it takes over before it starts it.
 * - A holder lets go by disposal. When the next one starts, what was spawned with `keepOnPark` goes on; core has ended the
 *   rest before it lets go. Of a holder who was overtaken **without having let go** nothing goes on, `keepOnPark` or not:
 *   nobody knows what it was in the middle of.
 * - Methods that need a running sandbox throw `not_running` in any other state; when the sandbox is no longer there they
 *   throw `sandbox_gone`. `stop`, `shutdown` and disposal are idempotent and may be called in any state, concurrently, also
 *   through a handle that was never started: that one carries no fence, and whoever calls them answers for it.
 * - `shutdown` releases everything that the provider holds for it. A second call, or one for what is gone, succeeds.
 *
 * ## State
 *
 * `state` is plain JSON with which another process finds this sandbox again: identity and pointers. It holds no secret
 * and nothing that grants privilege: image, mounts, limits and credentials always come from today's configuration.
 *
 * ## Example
 *
 * ```ts
 * const sandbox = await client.create(request)
 * await sandbox.start({ fence: 1n })
 * const process = await sandbox.spawn({ operationId: 'op-1', command: ['uname', '-a'] })
 * const exit = await process.wait()        // { exitCode: 0, signal: null, timedOut: false }
 * await sandbox.shutdown()
 * ```
 */
export interface Sandbox<S extends SandboxState = SandboxState> extends AsyncDisposable {
  /** The provider's name for it. */
  readonly id: string
  readonly state: S
  /** The truth for this sandbox; never more than the client's features. */
  readonly features: BackendFeatures
  readonly paths: SandboxPaths
  /**
   * Throws `lease_lost` for a lower fence, `sandbox_gone`, `backend_unavailable`, `aborted`, `invalid_argument`. A start that
   * was aborted or failed may be tried again. With a higher fence than the last holder's it returns when the processes that
   * may not go on have ended, see above.
   */
  start(options: StartOptions): Promise<void>
  /**
   * The only way to run anything. Throws `exec_not_started` when the program, directory or user is not there;
   * `unsupported_feature` for what `features` denies.
   */
  spawn(request: SpawnRequest): Promise<SandboxProcess>
  /** All that it knows: running ones, those of an earlier host too, and recently ended ones. */
  processes(): Promise<ProcessInfo[]>
  /** Output of a process from an offset in bytes on. Throws `not_found`. */
  attach(processId: string, options?: { readonly fromOffset?: number }): Promise<AttachedProcess>
  readonly files: SandboxFiles
  /** Background processes hold still until `thaw`; files stay readable. Idempotent. */
  freeze(): Promise<void>
  thaw(): Promise<void>
  /**
   * All processes end, those with `keepOnPark` too. The workspace survives only with `features.persistentWorkspace`. Throws
   * `lease_lost` through the handle of a holder who was overtaken.
   */
  stop(): Promise<void>
  /** Everything the provider holds for it is released. Throws `lease_lost` through the handle of a holder who was overtaken. */
  shutdown(): Promise<void>
  pause(): Promise<void>
  unpause(): Promise<void>
  /** A listener on 127.0.0.1 of this host, tunnelled to `port` on loopback inside; works without any network inside. */
  endpoint(port: number): Promise<PortEndpoint>
  snapshotNative(): Promise<NativeSnapshotRef>
  usage(): Promise<ResourceUsage>
}

/** What every backend's state has; a backend adds members and validates all of them with its `stateSchema`. */
export type SandboxState = { readonly [key: string]: JsonValue }

export interface SandboxPaths {
  /** Absolute; what commands see. */
  readonly workspace: string
  /** Absolute; same file system as the workspace, hidden from tools, never part of a snapshot. */
  readonly control: string
}

export interface StartOptions {
  readonly fence: bigint
  readonly signal?: AbortSignal
}

/** Where a port inside is reached from this host. Disposal closes the listener. */
export interface PortEndpoint extends AsyncDisposable {
  readonly host: string
  readonly port: number
  readonly url: string
}

/** Points to a snapshot that the provider keeps in its own form. */
export interface NativeSnapshotRef {
  readonly backend: string
  readonly id: string
  readonly data: JsonValue
}

/** Current use, where the backend can tell; null where it cannot. */
export interface ResourceUsage {
  readonly cpuMs: number | null
  readonly memoryBytes: number | null
  readonly processes: number | null
  readonly diskBytes: number | null
}
