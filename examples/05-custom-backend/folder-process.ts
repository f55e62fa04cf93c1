import type { ChildProcess } from 'node:child_process'
import { Writable } from 'node:stream'
import type { Readable } from 'node:stream'
import { SandboxError } from '@cofferdam/core/plugin'
import type {
  AttachedProcess,
  ProcessExit,
  ProcessInfo,
  SandboxProcess,
  Signal,
  SpawnRequest,
} from '@cofferdam/core/plugin'
import { CommandOutput } from './command-output.js'

const DEFAULT_TIMEOUT_MS = 120_000

export interface StartedCommand {
  readonly id: string
  readonly child: ChildProcess
  readonly request: SpawnRequest
  /** Sends a signal to the command and all its descendants; SIGKILL returns when they are dead. */
  readonly signalTree: (signal: Signal) => Promise<void>
}

/** One command of a folder sandbox. */
export class FolderProcess implements SandboxProcess {
  readonly id: string
  readonly stdin: WritableStream<Uint8Array>
  readonly #started: StartedCommand
  readonly #startedAtMs = Date.now()
  readonly #output: CommandOutput
  readonly #ended: Promise<ProcessExit>
  #exit: ProcessExit | null = null
  #timedOut = false
  #aborted = false

  constructor(started: StartedCommand) {
    const { id, child } = started
    this.id = id
    this.#started = started
    this.stdin = inputOf(child.stdin)
    this.#output = new CommandOutput(child.stdout as Readable, child.stderr as Readable)
    this.#ended = new Promise((resolve) => {
      child.once('exit', (exitCode, signal) => {
        this.#exit = { exitCode, signal: signal as Signal | null, timedOut: this.#timedOut }
        void this.#output.end()
        resolve(this.#exit)
      })
    })
    this.#bound()
  }

  get stdout(): ReadableStream<Uint8Array> {
    return this.#output.stdout
  }

  get stderr(): ReadableStream<Uint8Array> {
    return this.#output.stderr
  }

  get info(): ProcessInfo {
    const { operationId, command, background = false, keepOnPark = false } = this.#started.request
    const text = typeof command === 'string' ? command : command.join(' ')
    return {
      id: this.id,
      operationId,
      command: text.slice(0, 200),
      status: this.#exit === null ? 'running' : 'ended',
      exit: this.#exit,
      background,
      keepOnPark,
      startedAtMs: this.#startedAtMs,
    }
  }

  async wait(): Promise<ProcessExit> {
    const exit = await this.#ended
    if (!this.#aborted) return exit
    const cause = this.#started.request.signal?.reason as unknown
    throw new SandboxError('aborted', 'the command was ended by its signal', {}, { cause })
  }

  kill(signal: Signal = 'SIGKILL'): Promise<void> {
    return this.#started.signalTree(signal)
  }

  resize(): Promise<void> {
    const reason = 'this backend has no terminals'
    return Promise.reject(new SandboxError('unsupported_feature', reason, { feature: 'tty', reason }))
  }

  attach(fromOffset?: number): AttachedProcess {
    const kept = this.#output.firstOffset
    const end = this.#output.endOffset
    const firstOffset = Math.min(Math.max(fromOffset ?? kept, kept), end)
    const process: SandboxProcess = {
      id: this.id,
      stdin: this.stdin,
      stdout: this.#output.follow(firstOffset),
      stderr: new ReadableStream({ start: (controller) => controller.close() }),
      resize: () => this.resize(),
      kill: (signal) => this.kill(signal),
      wait: () => this.wait(),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }
    const droppedBytes = Math.max(0, firstOffset - (fromOffset ?? 0))
    return { process, firstOffset, availableBytes: end - firstOffset, droppedBytes }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#started.request.background !== true) await this.kill()
  }

  /** Ends the tree when its time is over or its signal fires. */
  #bound(): void {
    const { signal, timeoutMs = DEFAULT_TIMEOUT_MS } = this.#started.request
    const runOut = (): void => {
      this.#timedOut = true
      void this.kill()
    }
    const abort = (): void => {
      this.#aborted = true
      void this.kill()
    }
    const timer = timeoutMs === 0 ? undefined : setTimeout(runOut, timeoutMs)
    signal?.addEventListener('abort', abort, { once: true })
    if (signal?.aborted === true) abort()
    void this.#ended.then(() => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    })
  }
}

function inputOf(stdin: Writable | null): WritableStream<Uint8Array> {
  if (stdin !== null) return Writable.toWeb(stdin) as WritableStream<Uint8Array>
  return new WritableStream({ start: (controller) => controller.error(new TypeError('stdin is closed')) })
}
