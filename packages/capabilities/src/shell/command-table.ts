import type { SandboxSession, SpawnOptions } from '@cofferdam/core'
import { assertNotAborted, isSandboxError, SandboxError } from '@cofferdam/core/plugin'
import { RunningCommand } from './running-command.js'
import type { CommandStart } from './running-command.js'

const MAX_RUNNING = 32
/** Ended commands whose output can still be read. */
const MAX_ENDED = 64

/** The commands that the tools of one binding started. */
export class CommandTable {
  readonly #session: SandboxSession
  readonly #commands = new Map<string, RunningCommand>()
  /** Ended long ago: forgotten but for what they may have left running. */
  readonly #forgotten: RunningCommand[] = []
  /** Wake the calls that wait, when the session is lost. One listener for all: there may be many. */
  readonly #wakers = new Set<() => void>()
  readonly #wakeAll = (): void => {
    for (const wake of this.#wakers) wake()
  }
  #disposed = false

  constructor(session: SandboxSession) {
    this.#session = session
    session.lost.addEventListener('abort', this.#wakeAll, { once: true })
  }

  get all(): readonly RunningCommand[] {
    return [...this.#commands.values()]
  }

  /** undefined for a command that another started, or that is long over. */
  find(id: string): RunningCommand | undefined {
    return this.#commands.get(id)
  }

  /** Throws `quota_exceeded` when too many run, and what `session.spawn` throws. */
  async start(start: CommandStart, options: SpawnOptions): Promise<RunningCommand> {
    if (this.#disposed)
      throw new SandboxError('not_running', 'the shell was disposed with its run', { status: 'disposed' })
    if (this.all.filter(({ end }) => end === undefined).length >= MAX_RUNNING) {
      const message = `${MAX_RUNNING} commands are running already; end some with kill_process`
      throw new SandboxError('quota_exceeded', message, { quota: 'running commands', limit: MAX_RUNNING })
    }
    const process = await this.#session.spawn(start.command, options)
    const command = new RunningCommand(process, start)
    this.#commands.set(command.id, command)
    this.#forgetOldest()
    // Disposed while it started: nobody else will end it.
    if (this.#disposed) await command.dispose()
    return command
  }

  /**
   * Waits for the end of a command, `waitMs` at most. Throws `aborted`, `lease_lost`, and what made the end of the command
   * unknown.
   */
  async waitFor(command: RunningCommand, waitMs: number, signal?: AbortSignal): Promise<void> {
    const { lost } = this.#session
    if (command.end === undefined && !lost.aborted && signal?.aborted !== true) {
      await this.#sleepUntil(command.ended, waitMs, signal)
    }
    assertNotAborted(signal, 'waiting for a command')
    if (lost.aborted) {
      const key = this.#session.slot ?? ''
      throw new SandboxError('lease_lost', 'the session was lost while a command ran', { key }, { cause: lost.reason })
    }
    if (command.end !== undefined && 'error' in command.end) throw command.end.error
  }

  /** Ends everything that was started and is not known to be gone. */
  async dispose(): Promise<void> {
    this.#disposed = true
    this.#session.lost.removeEventListener('abort', this.#wakeAll)
    const commands = [...this.#commands.values(), ...this.#forgotten.splice(0)]
    this.#commands.clear()
    const results = await Promise.allSettled(commands.map((command) => command.dispose()))
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
    const real = failures.filter((failure) => !isOverAnyway(failure))
    if (real.length > 0) throw new AggregateError(real, 'some commands of the shell could not be ended')
  }

  async #sleepUntil(ended: Promise<unknown>, waitMs: number, signal: AbortSignal | undefined): Promise<void> {
    let wake = (): void => undefined
    const woken = new Promise<void>((resolve) => {
      wake = resolve
    })
    const timer = setTimeout(wake, waitMs)
    this.#wakers.add(wake)
    signal?.addEventListener('abort', wake, { once: true })
    try {
      await Promise.race([ended, woken])
    } finally {
      clearTimeout(timer)
      this.#wakers.delete(wake)
      signal?.removeEventListener('abort', wake)
    }
  }

  #forgetOldest(): void {
    const ended = this.all.filter(({ end }) => end !== undefined)
    for (const command of ended.slice(0, Math.max(ended.length - MAX_ENDED, 0))) {
      this.#commands.delete(command.id)
      this.#forgotten.push(command)
    }
  }
}

/** With the session or the sandbox gone, or another its owner, nothing of ours runs. */
function isOverAnyway(error: unknown): boolean {
  return ['not_running', 'sandbox_gone', 'lease_lost', 'not_found'].some(
    (code) => isSandboxError(error) && error.code === code,
  )
}
