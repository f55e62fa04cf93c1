import { setImmediate } from 'node:timers/promises'
import { SandboxError } from '@cofferdam/core/plugin'
import type {
  AttachedProcess,
  ProcessExit,
  ProcessInfo,
  SandboxProcess,
  Signal,
  SpawnRequest,
  TerminalSize,
} from '@cofferdam/core/plugin'
import type { Child } from './child.js'
import type { ChildExit } from './child-exit.js'
import type { Family } from './find-processes.js'
import { closedInput, inputStream } from './input-stream.js'
import { killFamily, signalFamily } from './kill-family.js'
import { OutputPump } from './output-pump.js'
import { OutputRing } from './output-ring.js'

export interface LocalProcessOptions {
  readonly id: string
  readonly request: SpawnRequest
  readonly child: Child
  /** In the environment of all its descendants, unless they scrubbed it. */
  readonly marker: string
  readonly startedAtMs: number
  /** Called when its own process has ended. */
  readonly onEnd: (process: LocalProcess) => void
}

const DEFAULT_TIMEOUT_MS = 120_000
const MAX_TIMER_MS = 2 ** 31 - 1
const SHOWN_CHARACTERS = 200

/** A command that was started by this host. */
export class LocalProcess implements SandboxProcess {
  readonly id: string
  readonly #options: LocalProcessOptions
  readonly #ring = new OutputRing()
  readonly #pumps: readonly OutputPump[]
  readonly #ended: Promise<ProcessExit>
  #stdin: WritableStream<Uint8Array> | undefined
  #exit: ProcessExit | null = null
  #childEnded = false
  #killing: Promise<void> | undefined
  #end: 'itself' | 'timeout' | 'abort' = 'itself'
  #timer: NodeJS.Timeout | undefined
  readonly #abort = (): void => this.#cut('abort')

  constructor(options: LocalProcessOptions) {
    const { child, request } = options
    this.id = options.id
    this.#options = options
    const sources = child.stderr === null ? [child.stdout] : [child.stdout, child.stderr]
    const remembers = request.background ?? false
    this.#pumps = sources.map((source) => new OutputPump({ source, ring: this.#ring, remembers }))
    this.#ended = new Promise((resolve) => child.onExit((exit) => void this.#finish(exit).then(resolve)))
    const timeoutMs = request.timeoutMs ?? DEFAULT_TIMEOUT_MS
    if (timeoutMs > 0) this.#timer = setTimeout(() => this.#cut('timeout'), Math.min(timeoutMs, MAX_TIMER_MS))
    request.signal?.addEventListener('abort', this.#abort, { once: true })
    if (request.signal?.aborted === true) this.#cut('abort')
  }

  get family(): Family {
    return { leaders: [{ pid: this.#options.child.pid, hasEnded: this.#childEnded }], marker: this.#options.marker }
  }

  get pid(): number {
    return this.#options.child.pid
  }

  get hasEnded(): boolean {
    return this.#exit !== null
  }

  get stdin(): WritableStream<Uint8Array> {
    const { stdin } = this.#options.child
    const wanted = this.#options.request.stdin === 'pipe'
    return (this.#stdin ??= stdin === null || !wanted ? closedInput() : inputStream(stdin))
  }

  get stdout(): ReadableStream<Uint8Array> {
    return this.#pump(0)
  }

  get stderr(): ReadableStream<Uint8Array> {
    return this.#pumps.length === 1 ? emptyStream() : this.#pump(1)
  }

  info(): ProcessInfo {
    const { request, startedAtMs } = this.#options
    const text = typeof request.command === 'string' ? request.command : request.command.join(' ')
    return {
      id: this.id,
      operationId: request.operationId,
      command: text.slice(0, SHOWN_CHARACTERS),
      status: this.#exit === null ? 'running' : 'ended',
      exit: this.#exit,
      background: request.background ?? false,
      keepOnPark: request.keepOnPark ?? false,
      startedAtMs,
    }
  }

  async resize(size: TerminalSize): Promise<void> {
    if (!this.#childEnded) this.#options.child.resize(size)
  }

  async kill(signal: Signal = 'SIGKILL'): Promise<void> {
    if (signal !== 'SIGKILL') return signalFamily(this.family, signal)
    await this.#killAll()
    if (this.#exit === null) await this.#ended
  }

  async wait(): Promise<ProcessExit> {
    const exit = await this.#ended
    if (this.#end !== 'abort') return exit
    const cause: unknown = this.#options.request.signal?.reason
    throw new SandboxError(
      'aborted',
      'The command was ended, because its signal was aborted.',
      {},
      { backend: 'local', operation: 'spawn', cause },
    )
  }

  /** The same process, with its output from the ring. */
  attach(fromOffset: number | undefined): AttachedProcess {
    const ring = this.#ring
    const asked = fromOffset ?? ring.startOffset
    const firstOffset = Math.min(Math.max(asked, ring.startOffset), ring.endOffset)
    const process = new AttachedHandle(this, ringStream(ring, firstOffset))
    return {
      process,
      firstOffset,
      availableBytes: ring.endOffset - firstOffset,
      droppedBytes: Math.max(0, firstOffset - asked),
    }
  }

  /** Lets go of it: it goes on, what it writes is remembered, and this process may end. */
  letGo(): void {
    for (const pump of this.#pumps) {
      pump.drain()
      pump.holdOpen(false)
    }
    this.#options.child.holdOpen(false)
    this.#timer?.unref()
  }

  /** Somebody holds the sandbox again: what is waited for will come. */
  takeUp(): void {
    if (this.#exit !== null) return
    for (const pump of this.#pumps) pump.holdOpen(true)
    this.#options.child.holdOpen(true)
    this.#timer?.ref()
  }

  /** Closes our ends of its pipes but for those that somebody reads. For one that has ended and is not listed any more. */
  forget(): void {
    for (const pump of this.#pumps) pump.abandon()
  }

  /** What an ended command left behind goes on, see `SandboxProcess`. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#options.request.background !== true && this.#exit === null) await this.kill()
    for (const pump of this.#pumps) pump.drain()
  }

  #pump(index: number): ReadableStream<Uint8Array> {
    return this.#pumps[index]?.stream ?? emptyStream()
  }

  #cut(end: 'timeout' | 'abort'): void {
    if (this.#childEnded) return
    this.#end = end
    this.#killAll().catch(() => undefined)
  }

  #killAll(): Promise<void> {
    return (this.#killing ??= killFamily(this.family).finally(() => (this.#killing = undefined)))
  }

  async #finish(exit: ChildExit): Promise<ProcessExit> {
    this.#childEnded = true
    clearTimeout(this.#timer)
    this.#options.request.signal?.removeEventListener('abort', this.#abort)
    // Who ran out of time is told so only when nothing of it runs any more.
    if (this.#end !== 'itself') await this.#killAll()
    this.#exit = { ...exit, timedOut: this.#end === 'timeout' }
    for (const pump of this.#pumps) pump.exited()
    void this.#completeRing()
    this.#options.onEnd(this)
    return this.#exit
  }

  /** After a whole turn of the loop all that the command wrote has been read. What descendants write later is added. */
  async #completeRing(): Promise<void> {
    await setImmediate()
    await setImmediate()
    this.#ring.complete()
  }
}

/** Somebody else's view of a process. Disposal lets go of the view alone. */
class AttachedHandle implements SandboxProcess {
  readonly stdout: ReadableStream<Uint8Array>
  readonly #process: LocalProcess

  constructor(process: LocalProcess, stdout: ReadableStream<Uint8Array>) {
    this.#process = process
    this.stdout = stdout
  }

  get id(): string {
    return this.#process.id
  }

  get stdin(): WritableStream<Uint8Array> {
    return this.#process.stdin
  }

  get stderr(): ReadableStream<Uint8Array> {
    return emptyStream()
  }

  resize(size: TerminalSize): Promise<void> {
    return this.#process.resize(size)
  }

  kill(signal?: Signal): Promise<void> {
    return this.#process.kill(signal)
  }

  wait(): Promise<ProcessExit> {
    return this.#process.wait()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.stdout.locked) await this.stdout.cancel()
  }
}

/** The ring from an offset on, then what comes. A reader slower than the ring misses bytes. */
function ringStream(ring: OutputRing, fromOffset: number): ReadableStream<Uint8Array> {
  let offset = fromOffset
  let cancelled = false
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        while (!cancelled) {
          const { bytes, nextOffset } = ring.read(offset)
          offset = nextOffset
          if (bytes.length > 0) return controller.enqueue(bytes)
          if (ring.isComplete) return controller.close()
          await ring.changed()
        }
      },
      cancel() {
        cancelled = true
      },
    },
    { highWaterMark: 0 },
  )
}

export function emptyStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() })
}
