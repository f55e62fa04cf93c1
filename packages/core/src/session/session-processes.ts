import type { AttachedProcess, ProcessInfo, Signal } from '../contracts/process.js'
import type { Sandbox } from '../contracts/sandbox.js'
import type { ProcessOutput, ReadOutputOptions, SessionProcesses } from '../contracts/session.js'
import { assertNotAborted } from '../errors/assert-not-aborted.js'
import { isSandboxError, SandboxError } from '../errors/sandbox-error.js'
import { withoutPartialEnd, withoutPartialStart } from './output-collector.js'

const DEFAULT_READ_BYTES = 64 * 1024
/** Of setTimeout. */
const MAX_TIMER_MS = 2 ** 31 - 1

export interface SessionProcessesContext {
  readonly sandbox: Sandbox
  /** Throws when the session may not be used. */
  readonly assertUsable: () => void
}

export function createSessionProcesses(context: SessionProcessesContext): SessionProcesses {
  return new AttachedProcesses(context)
}

class AttachedProcesses implements SessionProcesses {
  readonly #context: SessionProcessesContext
  /** Of processes that live. */
  readonly #inputs = new Map<string, Promise<WritableStreamDefaultWriter<Uint8Array>>>()

  constructor(context: SessionProcessesContext) {
    this.#context = context
  }

  async list(): Promise<readonly ProcessInfo[]> {
    this.#context.assertUsable()
    return (await this.#context.sandbox.processes()).filter(({ background }) => background)
  }

  async get(id: string): Promise<ProcessInfo> {
    this.#context.assertUsable()
    const found = (await this.#context.sandbox.processes()).find((info) => info.id === id)
    if (found === undefined) throw unknownProcess(id)
    return found
  }

  async readOutput(id: string, options: ReadOutputOptions = {}): Promise<ProcessOutput> {
    const { fromOffset, maxBytes = DEFAULT_READ_BYTES, waitMs = 0, signal } = options
    assertCount('fromOffset', fromOffset ?? 0)
    assertCount('maxBytes', maxBytes)
    assertCount('waitMs', waitMs)
    assertNotAborted(signal, 'readOutput')
    const before = await this.get(id)
    const attached = await this.#context.sandbox.attach(id, fromOffset === undefined ? {} : { fromOffset })
    try {
      const wait = before.exit === null ? waitMs : 0
      const read = await readFor(attached, { maxBytes, waitMs: wait, ...(signal === undefined ? {} : { signal }) })
      // Only what was known before the read, or seen at the end of the stream: output may not come after the exit.
      const exit = before.exit ?? (read.ended ? (await this.get(id)).exit : null)
      const kept = wholeCharacters(read.bytes, {
        afterGap: attached.droppedBytes > 0,
        mayGoOn: exit === null || read.bytes.length < attached.availableBytes,
      })
      const skipped = kept.byteOffset - read.bytes.byteOffset
      return {
        text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(kept),
        bytes: kept,
        fromOffset: attached.firstOffset + skipped,
        nextOffset: attached.firstOffset + skipped + kept.length,
        droppedBytes: attached.droppedBytes + skipped,
        exit,
      }
    } finally {
      await attached.process[Symbol.asyncDispose]()
    }
  }

  async writeInput(id: string, data: string | Uint8Array, options: { readonly end?: boolean } = {}): Promise<void> {
    const info = await this.get(id)
    if (info.status === 'ended') throw noInput(id)
    const writer = await this.#inputOf(id)
    const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data
    try {
      if (bytes.length > 0) await writer.write(bytes)
      if (options.end === true) await writer.close()
    } catch (error) {
      this.#inputs.delete(id)
      throw isSandboxError(error) ? error : noInput(id, error)
    }
  }

  async kill(id: string, signal?: Signal): Promise<void> {
    await this.get(id)
    const { process } = await this.#context.sandbox.attach(id)
    try {
      await process.kill(signal)
    } finally {
      await process[Symbol.asyncDispose]()
    }
  }

  /** One for all calls, so that what they write does not mingle. */
  #inputOf(id: string): Promise<WritableStreamDefaultWriter<Uint8Array>> {
    let input = this.#inputs.get(id)
    if (input === undefined) {
      input = this.#openInput(id)
      input.catch(() => this.#inputs.delete(id))
      this.#inputs.set(id, input)
    }
    return input
  }

  async #openInput(id: string): Promise<WritableStreamDefaultWriter<Uint8Array>> {
    const { process } = await this.#context.sandbox.attach(id)
    const writer = process.stdin.getWriter()
    writer.closed.catch(() => undefined)
    const forget = async (): Promise<void> => {
      this.#inputs.delete(id)
      await process[Symbol.asyncDispose]()
    }
    process
      .wait()
      .then(forget, forget)
      .catch(() => undefined)
    return writer
  }
}

interface OutputRead {
  readonly bytes: Uint8Array
  /** The process has ended, and this was the last of its output. */
  readonly ended: boolean
}

/** What the ring holds; when that is nothing, what comes first within the time to wait. */
async function readFor(
  attached: AttachedProcess,
  options: { readonly maxBytes: number; readonly waitMs: number; readonly signal?: AbortSignal },
): Promise<OutputRead> {
  const { maxBytes, waitMs, signal } = options
  const wanted = Math.min(maxBytes, attached.availableBytes)
  const reader = attached.process.stdout.getReader()
  const over = deadline(waitMs, signal)
  const chunks: Uint8Array[] = []
  let sizeBytes = 0
  let ended = false
  try {
    while (sizeBytes < wanted || (sizeBytes === 0 && maxBytes > 0 && waitMs > 0)) {
      const result = await Promise.race([reader.read(), sizeBytes < wanted ? over.aborted : over.passed])
      if (result === undefined) break
      ended = result.done
      if (result.done) break
      const kept = result.value.subarray(0, maxBytes - sizeBytes)
      chunks.push(kept)
      sizeBytes += kept.length
    }
  } finally {
    over.clear()
    await reader.cancel()
    reader.releaseLock()
  }
  return { bytes: Buffer.concat(chunks), ended }
}

interface Deadline {
  /** Rejects with `aborted` when the signal fires. */
  readonly aborted: Promise<never>
  /** The same; resolves when the time is over. */
  readonly passed: Promise<undefined>
  clear(): void
}

function deadline(waitMs: number, signal: AbortSignal | undefined): Deadline {
  const clears: (() => void)[] = []
  const aborted = new Promise<never>((_, reject) => {
    const onAbort = (): void =>
      reject(new SandboxError('aborted', 'readOutput was aborted by its signal', {}, { cause: signal?.reason }))
    signal?.addEventListener('abort', onAbort, { once: true })
    clears.push(() => signal?.removeEventListener('abort', onAbort))
  })
  const time = new Promise<undefined>((resolve) => {
    const timer = setTimeout(() => resolve(undefined), Math.min(waitMs, MAX_TIMER_MS))
    clears.push(() => clearTimeout(timer))
  })
  const passed = Promise.race([aborted, time])
  passed.catch(() => undefined)
  return { aborted, passed, clear: () => clears.forEach((clear) => clear()) }
}

/** Characters that were cut in half come whole with the next read; bytes that are no character stay as they are. */
function wholeCharacters(
  bytes: Uint8Array,
  { afterGap, mayGoOn }: { readonly afterGap: boolean; readonly mayGoOn: boolean },
): Uint8Array {
  const begun = afterGap ? withoutPartialStart(bytes) : bytes
  if (!mayGoOn) return begun
  const whole = withoutPartialEnd(begun)
  // Less than a character was asked for: going on is better than standing still.
  return whole.length === 0 ? begun : whole
}

function assertCount(argument: string, value: number): void {
  if (Number.isFinite(value) && value >= 0 && (argument === 'waitMs' || Number.isInteger(value))) return
  const reason = argument === 'waitMs' ? 'it is a number of milliseconds, 0 or more' : 'it is a whole number, 0 or more'
  throw new SandboxError('invalid_argument', `readOutput: ${argument}: ${reason}`, { argument, reason })
}

function unknownProcess(id: string): SandboxError<'not_found'> {
  return new SandboxError('not_found', `there is no process ${id} in this session; list() names them`, { path: id })
}

function noInput(id: string, cause?: unknown): SandboxError<'invalid_argument'> {
  const why = "it has ended or closed its stdin, or was started without stdin: 'pipe'"
  return new SandboxError(
    'invalid_argument',
    `process ${id} takes no input: ${why}`,
    { argument: 'id', reason: 'stdin is closed' },
    { cause },
  )
}
