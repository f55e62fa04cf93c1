import type { BackendFeatures } from '../contracts/features.js'
import type { SandboxEvent, StartBranch } from '../contracts/observer.js'
import type { SandboxProcess } from '../contracts/process.js'
import type { PortEndpoint, ResourceUsage } from '../contracts/sandbox.js'
import type {
  ExecOptions,
  ExecResult,
  ReleaseOptions,
  ReleaseResult,
  SandboxSession,
  SessionDescription,
  SessionFiles,
  SessionProcesses,
  SessionStatus,
  SpawnOptions,
} from '../contracts/session.js'
import type { SnapshotRef } from '../contracts/snapshot.js'
import type { LiveSession } from './live-session.js'
import { assertAllowed } from './session-status.js'

/** What a handle needs from the host beside the live session. */
export interface HandleActions {
  readonly snapshot: (live: LiveSession, signal: AbortSignal | undefined) => Promise<SnapshotRef | null>
  readonly release: (live: LiveSession, options: ReleaseOptions) => Promise<ReleaseResult>
}

const lives = new WeakMap<SandboxSession, LiveSession>()

/** The live session behind a handle of ours; undefined for another implementation of the contract. */
export function liveSessionOf(session: SandboxSession): LiveSession | undefined {
  return lives.get(session)
}

/** One caller's hold on a live session. Every acquire gives its own. */
export class SessionHandle implements SandboxSession {
  readonly ownership: 'owned' | 'borrowed'
  readonly #live: LiveSession
  readonly #actions: HandleActions
  #released: Promise<ReleaseResult> | undefined

  constructor(live: LiveSession, ownership: 'owned' | 'borrowed', actions: HandleActions) {
    this.#live = live
    this.ownership = ownership
    this.#actions = actions
    lives.set(this, live)
  }

  get id(): string {
    return this.#live.id
  }
  get slot(): string | null {
    return this.ownership === 'owned' ? this.#live.slot : null
  }
  get backendId(): string {
    return this.#live.backendId
  }
  get status(): SessionStatus {
    return this.#released !== undefined && this.#live.status === 'ready' ? 'closed' : this.#live.status
  }
  get branch(): StartBranch {
    return this.#live.branch
  }
  get features(): BackendFeatures {
    return this.#live.sandbox.features
  }
  get workspaceRoot(): string {
    return this.#live.scope.workspaceRoot
  }
  get lost(): AbortSignal {
    return this.#live.lost
  }
  get files(): SessionFiles {
    return this.#live.files
  }
  get processes(): SessionProcesses {
    return this.#live.processes
  }

  async exec(command: string | readonly string[], options?: ExecOptions): Promise<ExecResult> {
    this.#assertOpen()
    return this.#live.exec(command, options)
  }

  async execOrThrow(command: string | readonly string[], options?: ExecOptions): Promise<ExecResult> {
    this.#assertOpen()
    return this.#live.execOrThrow(command, options)
  }

  async spawn(command: string | readonly string[], options?: SpawnOptions): Promise<SandboxProcess> {
    this.#assertOpen()
    return this.#live.spawn(command, options)
  }

  describe(): Promise<SessionDescription> {
    return this.#live.describe()
  }

  onEvent(listener: (event: SandboxEvent) => void): () => void {
    return this.#live.subscribe(listener)
  }

  async snapshot(options: { readonly signal?: AbortSignal } = {}): Promise<SnapshotRef | null> {
    this.#assertOpen()
    this.#live.assertUsable()
    return this.#actions.snapshot(this.#live, options.signal)
  }

  async endpoint(port: number): Promise<PortEndpoint> {
    this.#assertOpen()
    this.#live.assertUsable()
    return this.#live.sandbox.endpoint(port)
  }

  async usage(): Promise<ResourceUsage> {
    this.#assertOpen()
    this.#live.assertUsable()
    return this.#live.sandbox.usage()
  }

  redact(text: string): string {
    return this.#live.redact(text)
  }

  release(options: ReleaseOptions = {}): Promise<ReleaseResult> {
    this.#released ??= this.#actions.release(this.#live, options)
    return this.#released
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release()
  }

  #assertOpen(): void {
    if (this.#released !== undefined && this.#live.status === 'ready') assertAllowed('closed', 'use')
  }
}
