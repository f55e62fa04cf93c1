import { randomUUID } from 'node:crypto'
import type { Clock } from '../contracts/clock.js'
import type { SandboxEvent, SandboxEventBody, StartBranch } from '../contracts/observer.js'
import type { SandboxProcess, SpawnRequest } from '../contracts/process.js'
import type { Sandbox } from '../contracts/sandbox.js'
import type {
  ExecOptions,
  ExecResult,
  SessionDescription,
  SessionFiles,
  SessionProcesses,
  SessionStatus,
  SpawnOptions,
} from '../contracts/session.js'
import type { SnapshotRef } from '../contracts/snapshot.js'
import { SandboxError } from '../errors/sandbox-error.js'
import { renderManifest } from '../manifest/render-manifest.js'
import { snapshotExcludes } from '../manifest/manifest-paths.js'
import type { Manifest } from '../manifest/manifest.js'
import { parseWorkspacePath } from '../path/workspace-path.js'
import type { PathScope } from '../path/workspace-path.js'
import { confinementOf } from './describe-confinement.js'
import { execCommand } from './exec-command.js'
import { createSessionFiles } from './session-files.js'
import { createSessionProcesses } from './session-processes.js'
import { assertAllowed, mayMove } from './session-status.js'

const DEFAULT_TIMEOUT_MS = 120_000

/** What a live session is made of. Everything is there before the first caller sees it. */
export interface LiveSessionParts {
  readonly id: string
  readonly slot: string
  readonly backendId: string
  readonly sandbox: Sandbox
  readonly manifest: Manifest
  /** Those that the sandbox really has. */
  readonly mounts: PathScope['mounts']
  readonly clock: Clock
  /** Throws `lease_lost` when the slot is no longer ours. */
  readonly assertHeld: () => void
  readonly lost: AbortSignal
  readonly emit: (event: SandboxEventBody) => void
  readonly subscribe: (listener: (event: SandboxEvent) => void) => () => void
  readonly redact: (text: string) => string
}

/**
 * One workspace in use: the sandbox with policy in front of it. One or several handles (`SessionHandle`) point to it; when
 * the last is released the host takes it down.
 */
export class LiveSession {
  readonly id: string
  readonly slot: string
  readonly backendId: string
  readonly sandbox: Sandbox
  readonly manifest: Manifest
  readonly lost: AbortSignal
  readonly scope: PathScope
  readonly emit: (event: SandboxEventBody) => void
  readonly subscribe: (listener: (event: SandboxEvent) => void) => () => void
  readonly redact: (text: string) => string
  branch: StartBranch = 'cold'
  snapshot: SnapshotRef | null = null
  #status: SessionStatus = 'new'
  readonly #clock: Clock
  readonly #assertHeld: () => void
  #files: SessionFiles | undefined
  #processes: SessionProcesses | undefined
  readonly #foreground = new Set<SandboxProcess>()

  constructor(parts: LiveSessionParts) {
    this.id = parts.id
    this.slot = parts.slot
    this.backendId = parts.backendId
    this.sandbox = parts.sandbox
    this.manifest = parts.manifest
    this.lost = parts.lost
    this.emit = parts.emit
    this.subscribe = parts.subscribe
    this.redact = parts.redact
    this.#clock = parts.clock
    this.#assertHeld = parts.assertHeld
    this.scope = {
      workspaceRoot: parts.sandbox.paths.workspace,
      mounts: parts.mounts,
    }
  }

  get status(): SessionStatus {
    return this.#status
  }

  /** Workspace-relative paths that no snapshot of it holds. */
  get snapshotExcludes(): readonly string[] {
    return snapshotExcludes(this.manifest)
  }

  moveTo(status: SessionStatus): void {
    if (!mayMove(this.#status, status)) throw new TypeError(`a session cannot go from ${this.#status} to ${status}`)
    this.emit({ type: 'session.status', from: this.#status, to: status })
    this.#status = status
  }

  /** Throws unless commands and files may be used right now. */
  assertUsable = (): void => {
    assertAllowed(this.#status, 'use')
    this.#assertHeld()
  }

  get files(): SessionFiles {
    this.#files ??= createSessionFiles({
      files: this.sandbox.files,
      scope: this.scope,
      hidden: [this.sandbox.paths.control],
      assertUsable: this.assertUsable,
      redact: this.redact,
    })
    return this.#files
  }

  get processes(): SessionProcesses {
    this.#processes ??= createSessionProcesses({ sandbox: this.sandbox, assertUsable: this.assertUsable })
    return this.#processes
  }

  async spawn(command: string | readonly string[], options: SpawnOptions = {}): Promise<SandboxProcess> {
    this.assertUsable()
    const request = this.#spawnRequest(command, options)
    const startedMs = this.#clock.monotonicMs()
    const process = await this.sandbox.spawn(request)
    const background = options.background ?? false
    this.emit({ type: 'exec.started', processId: process.id, background })
    if (!background) this.#foreground.add(process)
    const ended = (exit: { exitCode: number | null; signal: string | null; timedOut: boolean }): void => {
      this.#foreground.delete(process)
      const { exitCode, signal, timedOut } = exit
      const durationMs = this.#clock.monotonicMs() - startedMs
      this.emit({ type: 'exec.ended', processId: process.id, exitCode, signal, timedOut, durationMs })
    }
    process.wait().then(ended, () => ended({ exitCode: null, signal: null, timedOut: false }))
    return process
  }

  exec(command: string | readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
    return execCommand({
      spawn: (stdin) => this.spawn(command, { ...commandOptions(options), stdin }),
      options,
      nowMs: () => this.#clock.monotonicMs(),
    })
  }

  async execOrThrow(command: string | readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
    const result = await this.exec(command, options)
    if (result.exitCode === 0 && !result.timedOut) return result
    const { exitCode, signal, timedOut } = result
    const how = timedOut
      ? 'ran out of time'
      : signal === null
        ? `exited with ${String(exitCode)}`
        : `was ended by ${signal}`
    const stdoutTail = this.redact(result.stdout).slice(-2_000)
    const stderrTail = this.redact(result.stderr).slice(-2_000)
    throw new SandboxError(
      'exec_failed',
      `the command ${how}${stderrTail === '' ? '' : `: ${stderrTail.trim().slice(-300)}`}`,
      {
        exitCode,
        signal,
        timedOut,
        stdoutTail,
        stderrTail,
      },
    )
  }

  describe(): Promise<SessionDescription> {
    const { features } = this.sandbox
    return Promise.resolve({
      id: this.id,
      backend: this.backendId,
      status: this.#status,
      workspaceRoot: this.scope.workspaceRoot,
      features,
      confinement: confinementOf(features),
      mounts: this.scope.mounts.map(({ path, readOnly }) => ({ path, readOnly })),
      snapshot: this.snapshot,
      workspace: renderManifest(this.manifest),
    })
  }

  /** Ends every process that may not outlive the session; those with `keepOnPark` stay when the sandbox is parked. */
  async endProcesses(keepParked: boolean): Promise<void> {
    const failures: unknown[] = []
    const kill = async (end: () => Promise<void>): Promise<void> => {
      await end().catch((error: unknown) => failures.push(error))
    }
    await Promise.all([...this.#foreground].map((process) => kill(() => process.kill())))
    for (const info of await this.sandbox.processes()) {
      if (keepParked && info.background && info.keepOnPark) continue
      // Ended ones too: what they left running belongs to them.
      await kill(async () => {
        const { process } = await this.sandbox.attach(info.id)
        await process.kill()
      })
    }
    if (failures.length > 0) throw new AggregateError(failures, 'some processes of the session could not be ended')
  }

  #spawnRequest(command: string | readonly string[], options: SpawnOptions): SpawnRequest {
    const background = options.background ?? false
    return {
      operationId: randomUUID(),
      command,
      cwd: options.cwd === undefined ? this.scope.workspaceRoot : parseWorkspacePath(options.cwd, this.scope),
      timeoutMs: options.timeoutMs ?? (background ? 0 : DEFAULT_TIMEOUT_MS),
      background,
      keepOnPark: options.keepOnPark ?? false,
      stdin: options.stdin ?? 'closed',
      ...(options.env === undefined ? {} : { env: options.env }),
      ...(options.user === undefined ? {} : { user: options.user }),
      ...(options.tty === undefined ? {} : { tty: options.tty }),
      ...(options.limits === undefined ? {} : { limits: options.limits }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    }
  }
}

/** The members of exec's options that concern starting the command. */
function commandOptions(options: ExecOptions): SpawnOptions {
  const { cwd, env, user, limits, timeoutMs, signal } = options
  return {
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env }),
    ...(user === undefined ? {} : { user }),
    ...(limits === undefined ? {} : { limits }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(signal === undefined ? {} : { signal }),
  }
}
