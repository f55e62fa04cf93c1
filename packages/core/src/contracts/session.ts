import type { JsonValue } from '../errors/error-details.js'
import type { BackendFeatures } from './features.js'
import type { ByteSource, DirEntry, FileStat, WriteOptions } from './files.js'
import type { SandboxEvent, StartBranch } from './observer.js'
import type { ProcessExit, ProcessInfo, ProcessLimits, SandboxProcess, Signal, TerminalSize } from './process.js'
import type { PortEndpoint, ResourceUsage } from './sandbox.js'
import type { SnapshotRef } from './snapshot.js'

/**
 * # The session: what users hold
 *
 * A **session** is one use of one workspace in one sandbox. `host.acquire` finds or makes the sandbox, brings the
 * workspace to what it should be and hands out a session that is `ready`; `release` saves the work and gives the slot
 * back. Core implements it, once for all backends.
 *
 * ## Words
 *
 * - The **workspace** is the directory tree that belongs to the session and that a snapshot saves.
 * - A **slot** is whose workspace it is: a scope (session, user, agent, global) with its value and tenant, or, without a
 *   scope, the session itself. A slot has one **record**, written by compare-and-set, and at most one owner at a time.
 * - **Owned** sessions were acquired by the host and are persisted and parked, stopped or destroyed at release.
 *   **Borrowed** ones wrap a session that the caller already had: releasing one leaves it running and writes no record.
 *
 * ## States
 *
 * ```
 *   new ──▶ starting ──▶ ready ──▶ stopping ──▶ stopped ──▶ closed
 *              └────────▶ failed ─────────────────────────▶ closed
 * ```
 *
 * Callers see sessions from `ready` on. Commands and files need `ready`; reading status, events and the description is
 * always allowed; anything else is `not_running`. When the lease is lost, `lost` fires and every call is `lease_lost`.
 *
 * ## The four ways to a ready workspace
 *
 * | branch | the record says ready | the workspace's marker agrees | what happens |
 * |---|---|---|---|
 * | `warm`   | yes | yes | ephemeral entries only |
 * | `lost`   | yes | no  | emptied, snapshot restored, ephemeral entries; with no snapshot all entries, and `session.degraded` |
 * | `seeded` | no  | –   | emptied, snapshot restored, then the entries it does not hold |
 * | `cold`   | no  | –   | emptied, all entries |
 *
 * Projections, environment and mounts of today's manifest follow in every case, and the marker is written last.
 *
 * ## Release
 *
 * Hooks → foreground processes end → background ones with `keepOnPark` freeze → snapshot commits → thaw → record →
 * compute parks, stops or goes → lease. A step that fails never lets a later one destroy the only copy: when the snapshot
 * or the record fails the sandbox stays, its record says `unsaved`, and `release` throws one `AggregateError` of all.
 *
 * ## Example
 *
 * ```ts
 * const session = await host.acquire({ scope: { session: 'chat-42' }, manifest })
 * try {
 *   const result = await session.exec('npm test', { timeoutMs: 60_000 })
 *   if (result.exitCode !== 0) await session.files.write('notes.txt', result.stdout)
 * } finally {
 *   await session.release()
 * }
 * ```
 */
export interface SandboxSession extends AsyncDisposable {
  readonly id: string
  /** Key of the slot in the state store, or null for a borrowed session. */
  readonly slot: string | null
  readonly backendId: string
  readonly ownership: 'owned' | 'borrowed'
  readonly status: SessionStatus
  /** How the workspace was made ready. */
  readonly branch: StartBranch
  readonly features: BackendFeatures
  /** Absolute sandbox path. */
  readonly workspaceRoot: string
  /** Fires when the slot is no longer ours. What was running is ended by its next owner. */
  readonly lost: AbortSignal
  readonly files: SessionFiles
  readonly processes: SessionProcesses
  /**
   * Runs a command to its end. A non-zero exit and a timeout are results. Throws `exec_not_started`, `transport_lost`,
   * `aborted`, `not_running`, `lease_lost`, `path_escape` (for `cwd`), `unsupported_feature`.
   */
  exec(command: string | readonly string[], options?: ExecOptions): Promise<ExecResult>
  /** The same, but anything else than exit code 0 is `exec_failed` with the ends of the output. */
  execOrThrow(command: string | readonly string[], options?: ExecOptions): Promise<ExecResult>
  /** Starts a command and gives its streams. The caller reads them or cancels them. */
  spawn(command: string | readonly string[], options?: SpawnOptions): Promise<SandboxProcess>
  /** What is and what is not confined, where things lie, what the features are: for people and for models. */
  describe(): Promise<SessionDescription>
  /** Calls the listener with every event of this session from now on. Returns how to stop. */
  onEvent(listener: (event: SandboxEvent) => void): () => void
  /** Saves the workspace now, without ending anything, and points the record to it. Null where the engine keeps nothing. */
  snapshot(options?: { readonly signal?: AbortSignal }): Promise<SnapshotRef | null>
  endpoint(port: number): Promise<PortEndpoint>
  usage(): Promise<ResourceUsage>
  /** The text with every secret that was resolved for this host masked, in plain, base64, hex and URL form. */
  redact(text: string): string
  /** Idempotent: later and concurrent calls get the same result. Disposal is `release()`. */
  release(options?: ReleaseOptions): Promise<ReleaseResult>
}

export type SessionStatus = 'new' | 'starting' | 'ready' | 'stopping' | 'stopped' | 'closed' | 'failed'

interface CommandOptions {
  /** Workspace path. Default: the workspace root. */
  readonly cwd?: string
  /** Added to the session's environment. */
  readonly env?: Readonly<Record<string, string>>
  /** User to run as. Needs `features.users`. */
  readonly user?: string
  readonly limits?: ProcessLimits
  /** 0 = none. Default 120 000, for background processes 0. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

export interface ExecOptions extends CommandOptions {
  /** Given to the command, then end of file. Default: end of file at once. */
  readonly stdin?: string | ByteSource
  /** Bytes of stdout, and of stderr, that are kept: the first half and the last half. Default 1 MiB each. */
  readonly maxOutputBytes?: number
  /** Called with output as it arrives, never split within a character. */
  readonly onOutput?: (chunk: { readonly stream: 'stdout' | 'stderr'; readonly text: string }) => void
}

export interface SpawnOptions extends CommandOptions {
  readonly stdin?: 'closed' | 'pipe'
  readonly tty?: TerminalSize
  /** Outlives this call; listed in `processes`; ended at release unless `keepOnPark`. Default false. */
  readonly background?: boolean
  readonly keepOnPark?: boolean
}

/** What a command gave. Text is UTF-8 with replacement characters; `stdoutBytes` is exact. */
export interface ExecResult extends ProcessExit {
  readonly stdout: string
  readonly stderr: string
  readonly stdoutBytes: Uint8Array
  readonly stderrBytes: Uint8Array
  /** Bytes that the command wrote, kept or not. */
  readonly stdoutTotalBytes: number
  readonly stderrTotalBytes: number
  /** True when the middle of stdout or stderr was left out; a line in the text says how much. */
  readonly truncated: boolean
  readonly durationMs: number
}

/** Files beneath the workspace and the mounts. Paths are relative to the workspace, or absolute inside it or a mount. */
export interface SessionFiles {
  /** Whole contents. Throws `quota_exceeded` above `maxBytes` (default 64 MiB): use `readStream`. */
  read(path: string, options?: ReadFileOptions): Promise<Uint8Array>
  /** As UTF-8, with replacement characters for what is not. */
  readText(path: string, options?: ReadFileOptions): Promise<string>
  readStream(
    path: string,
    options?: { readonly offset?: number; readonly length?: number },
  ): Promise<ReadableStream<Uint8Array>>
  /** Replaces a file as a whole; missing parents are made. A string is written as UTF-8. */
  write(path: string, data: string | ByteSource, options?: WriteOptions): Promise<void>
  append(path: string, data: string | Uint8Array): Promise<void>
  /**
   * Replaces text that occurs exactly once (or, with `replaceAll`, at least once); else `invalid_argument`, which says how
   * often it occurs. Line ends and the byte order mark stay.
   */
  edit(path: string, edit: TextEdit): Promise<{ readonly replacements: number }>
  list(path?: string): Promise<readonly DirEntry[]>
  stat(path: string): Promise<FileStat | undefined>
  exists(path: string): Promise<boolean>
  mkdir(path: string, options?: { readonly recursive?: boolean; readonly mode?: number }): Promise<void>
  remove(path: string, options?: { readonly recursive?: boolean; readonly force?: boolean }): Promise<void>
  rename(from: string, to: string): Promise<void>
  /** Workspace-relative paths of files that match, in order. `.git` and what .gitignore names are left out unless asked for. */
  glob(pattern: string, options?: GlobOptions): Promise<GlobResult>
  /** Lines that match a regular expression, evaluated so that no pattern can take longer than its bound. */
  grep(pattern: string, options?: GrepOptions): Promise<GrepResult>
}

export interface ReadFileOptions {
  readonly maxBytes?: number
  readonly signal?: AbortSignal
}

export interface TextEdit {
  readonly oldText: string
  readonly newText: string
  readonly replaceAll?: boolean
}

export interface GlobOptions {
  /** Directory to look beneath. Default: the workspace root. */
  readonly cwd?: string
  /** Default false. */
  readonly includeIgnored?: boolean
  /** Default 1 000. */
  readonly limit?: number
  readonly signal?: AbortSignal
}

export interface GlobResult {
  readonly paths: readonly string[]
  /** True when there are more than `limit`. */
  readonly truncated: boolean
}

export interface GrepOptions extends GlobOptions {
  /** Only files whose path matches. */
  readonly glob?: string
  /** Take the pattern as plain text. Default false. */
  readonly literal?: boolean
  readonly ignoreCase?: boolean
  /** Lines before and after. Default 0. */
  readonly context?: number
  /** Default 10 000. */
  readonly timeoutMs?: number
}

export interface GrepMatch {
  readonly path: string
  /** From 1. */
  readonly line: number
  /** At most 500 characters. */
  readonly text: string
  readonly before: readonly string[]
  readonly after: readonly string[]
}

export interface GrepResult {
  readonly matches: readonly GrepMatch[]
  readonly truncated: boolean
  readonly filesSearched: number
  /** Files left out because they are binary or over 16 MiB. */
  readonly filesSkipped: number
}

/** Background processes of a session. */
export interface SessionProcesses {
  list(): Promise<readonly ProcessInfo[]>
  /** Throws `not_found`. */
  get(id: string): Promise<ProcessInfo>
  /** Output from an offset on, as far as the ring still holds it. Never waits for more than `waitMs` (default 0). */
  readOutput(id: string, options?: ReadOutputOptions): Promise<ProcessOutput>
  /** Throws `not_found`; `invalid_argument` when the process was started without `stdin: 'pipe'`. */
  writeInput(id: string, data: string | Uint8Array, options?: { readonly end?: boolean }): Promise<void>
  kill(id: string, signal?: Signal): Promise<void>
}

export interface ReadOutputOptions {
  /** Offset in bytes of all output, stdout and stderr in the order of arrival. Default: from the first byte kept. */
  readonly fromOffset?: number
  /** Default 64 KiB. */
  readonly maxBytes?: number
  /** Waits this long for the process to end, or for output when there is none. Default 0. */
  readonly waitMs?: number
  readonly signal?: AbortSignal
}

export interface ProcessOutput {
  readonly text: string
  readonly bytes: Uint8Array
  readonly fromOffset: number
  /** Pass as `fromOffset` to go on. */
  readonly nextOffset: number
  /** Bytes lost between the asked offset and `fromOffset`. */
  readonly droppedBytes: number
  readonly exit: ProcessExit | null
}

/** What a session is, in words and data. */
export interface SessionDescription {
  readonly id: string
  readonly backend: string
  readonly status: SessionStatus
  readonly workspaceRoot: string
  readonly features: BackendFeatures
  /** What stands between commands and the host, in one sentence each: processes, files, network, limits. */
  readonly confinement: readonly string[]
  readonly mounts: readonly { readonly path: string; readonly readOnly: boolean }[]
  readonly snapshot: SnapshotRef | null
  /** The manifest as an agent reads it. */
  readonly workspace: string
}

export type AfterRelease = 'park' | 'stop' | 'destroy'

export interface ReleaseOptions {
  /** Default: what was said at acquire; else `park` where the backend reattaches, else `stop`. */
  readonly afterRelease?: AfterRelease
  /** Only for borrowed sessions: `persist` takes a snapshot and returns it, and nothing else. Default `leave`. */
  readonly onRelease?: 'leave' | 'persist'
  readonly signal?: AbortSignal
}

export interface ReleaseResult {
  readonly snapshot: SnapshotRef | null
  /** With it `host.acquire({ state })` finds the work again. Null for borrowed sessions. Contains no secret. */
  readonly state: SessionState | null
  readonly compute: 'left' | 'parked' | 'stopped' | 'destroyed'
}

/** Versioned JSON with which a later process reconnects. Untrusted when it comes back. */
export interface SessionState {
  readonly version: 1
  readonly backend: string
  readonly sessionId: string
  /** Key of the record that speaks for it. */
  readonly slot: string
  readonly sandbox: JsonValue
  /** Names the filling of the workspace; a sandbox whose marker has another one is not reattached. */
  readonly incarnation: string
  readonly snapshot: SnapshotRef | null
  /** HMAC over the rest when the host has a state key, else null. */
  readonly mac: string | null
}
