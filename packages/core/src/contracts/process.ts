/** Signals by their POSIX names: those that a process can be sent, and those that it can end by. */
export type Signal =
  | 'SIGHUP'
  | 'SIGINT'
  | 'SIGQUIT'
  | 'SIGILL'
  | 'SIGTRAP'
  | 'SIGABRT'
  | 'SIGBUS'
  | 'SIGFPE'
  | 'SIGKILL'
  | 'SIGUSR1'
  | 'SIGSEGV'
  | 'SIGUSR2'
  | 'SIGPIPE'
  | 'SIGALRM'
  | 'SIGTERM'
  | 'SIGCONT'
  | 'SIGSTOP'
  | 'SIGXCPU'
  | 'SIGXFSZ'
  | 'SIGWINCH'
  | 'SIGSYS'

export interface TerminalSize {
  readonly cols: number
  readonly rows: number
}

/** Bounds on one command and its children. What the backend cannot enforce is `unsupported_feature`. */
export interface ProcessLimits {
  /** CPU time, as RLIMIT_CPU. */
  readonly cpuSeconds?: number
  /** Address space, as RLIMIT_AS. */
  readonly memoryBytes?: number
  /** Largest file written, as RLIMIT_FSIZE. */
  readonly fileSizeBytes?: number
  /** Open descriptors, as RLIMIT_NOFILE. */
  readonly openFiles?: number
}

/** Asks for one command. */
export interface SpawnRequest {
  /** Chosen by the caller, unique for the sandbox: the same id again returns the same process, never a second run. */
  readonly operationId: string
  /** A string runs by the sandbox's `sh -c`, never a login shell. An array is an argument vector, and no shell sees it. */
  readonly command: string | readonly string[]
  /** Absolute sandbox path. Default: the workspace. */
  readonly cwd?: string
  /** Added to the sandbox's environment; replaces equal names. Never visible in any process list. */
  readonly env?: Readonly<Record<string, string>>
  /** User to run as. Needs `features.users`. */
  readonly user?: string
  /** `closed` (default): a command that reads gets end of file and never hangs. */
  readonly stdin?: 'closed' | 'pipe'
  /** Run on a terminal of this size. stdout and stderr then arrive together on stdout. Needs `features.tty`. */
  readonly tty?: TerminalSize
  readonly limits?: ProcessLimits
  /** Kept inside the sandbox. 0 = none. Default 120 000. When it runs out the whole tree is killed. */
  readonly timeoutMs?: number
  /** Outlives the call that started it; ended at release unless `keepOnPark`. Default false. */
  readonly background?: boolean
  /** With `background`: goes on while the sandbox is parked, for the next holder to find. Ends all the same when its holder is overtaken. Default false. */
  readonly keepOnPark?: boolean
  /** Firing kills the whole tree; `wait` then rejects with `aborted`. */
  readonly signal?: AbortSignal
}

/** How a command ended. A non-zero exit and a timeout are values, not errors. */
export interface ProcessExit {
  /**
   * 0–255, or null when `signal` ended it. A signal without a name in {@link Signal} (SIGPROF, the real-time ones) comes as
   * 128 plus its number with `signal: null`, as shells tell it.
   */
  readonly exitCode: number | null
  /** Exactly one of `exitCode` and `signal` is null. */
  readonly signal: Signal | null
  /** True when `timeoutMs` ran out and the tree was killed for it. */
  readonly timedOut: boolean
  readonly usage?: ProcessUsage
}

/** Resources used, where the backend can tell. */
export interface ProcessUsage {
  readonly userCpuMs: number
  readonly systemCpuMs: number
  readonly maxRssBytes: number
}

/**
 * A command in a sandbox.
 *
 * `stdout` and `stderr` are lossless and back-pressured: when nobody reads, the command blocks as on any full pipe, and
 * nothing grows. A reader who is not interested cancels the stream; the command's output then goes to the ring that
 * `Sandbox.attach` reads. `wait` resolves when the command's own process has ended; the streams end with it, after what
 * the command wrote. Descendants that it left behind live on until `kill`, `stop` or the release of the session, and what
 * they write goes to the ring.
 *
 * Losing the connection makes `wait` reject with `transport_lost`; it never looks like an exit. Disposal kills the tree
 * unless the command was started with `background`, and forgets the handle.
 */
export interface SandboxProcess extends AsyncDisposable {
  /** Unique in the sandbox; survives a reconnect. */
  readonly id: string
  /** Already closed unless `stdin: 'pipe'` was asked for. Closing it gives the command end of file. */
  readonly stdin: WritableStream<Uint8Array>
  readonly stdout: ReadableStream<Uint8Array>
  readonly stderr: ReadableStream<Uint8Array>
  /** Throws `unsupported_feature` when the command has no terminal. */
  resize(size: TerminalSize): Promise<void>
  /**
   * Sends a signal to the whole tree. Default `SIGKILL`, which returns only when every descendant is dead, as far as
   * `features.killTree` promises. Killing what has ended is no error.
   */
  kill(signal?: Signal): Promise<void>
  /** May be called any number of times. */
  wait(): Promise<ProcessExit>
}

/** One process that the sandbox knows, running or ended. */
export interface ProcessInfo {
  readonly id: string
  readonly operationId: string
  /** As started: the shell text or the argument vector joined by spaces, at most 200 characters. Redacted. */
  readonly command: string
  readonly status: 'running' | 'ended'
  readonly exit: ProcessExit | null
  readonly background: boolean
  readonly keepOnPark: boolean
  /** Milliseconds since the epoch. */
  readonly startedAtMs: number
}

/**
 * A process attached to by offset, with how much of its output is gone. Its stdout gives stdout and stderr together, in the
 * order of arrival, as the ring holds them, then what comes until the process ends. Cancelling it or disposing the handle
 * changes nothing for the process.
 */
export interface AttachedProcess {
  readonly process: SandboxProcess
  /** Offset of the first byte that stdout will give. */
  readonly firstOffset: number
  /** Bytes that stdout gives at once, from `firstOffset` on; what comes after them is waited for. */
  readonly availableBytes: number
  /** Bytes between the asked offset and `firstOffset` that the ring no longer holds. */
  readonly droppedBytes: number
}
