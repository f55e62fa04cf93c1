import type { ProcessInfo, SandboxProcess, Signal } from '../contracts/process.js'
import type { Sandbox } from '../contracts/sandbox.js'
import type { ProcessOutput, ReadOutputOptions, SessionProcesses } from '../contracts/session.js'
import { assertNotAborted } from '../errors/assert-not-aborted.js'
import { SandboxError } from '../errors/sandbox-error.js'

const DEFAULT_READ_BYTES = 64 * 1024

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
  readonly #inputs = new Map<string, WritableStreamDefaultWriter<Uint8Array>>()

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
    assertNotAborted(options.signal, 'readOutput')
    const before = await this.get(id)
    const { process, firstOffset, droppedBytes, availableBytes } = await this.#context.sandbox.attach(
      id,
      options.fromOffset === undefined ? {} : { fromOffset: options.fromOffset },
    )
    const bytes = await readFor(process, { availableBytes, ended: before.status === 'ended' }, options)
    const exit = (await this.get(id)).exit
    const text = new TextDecoder().decode(bytes)
    return { text, bytes, fromOffset: firstOffset, nextOffset: firstOffset + bytes.length, droppedBytes, exit }
  }

  async writeInput(id: string, data: string | Uint8Array, options: { readonly end?: boolean } = {}): Promise<void> {
    await this.get(id)
    const writer = await this.#inputOf(id)
    const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data
    try {
      if (bytes.length > 0) await writer.write(bytes)
      if (options.end === true) {
        this.#inputs.delete(id)
        await writer.close()
      }
    } catch (error) {
      this.#inputs.delete(id)
      throw new SandboxError(
        'invalid_argument',
        `process ${id} takes no input: it has ended or closed its stdin, or was started without stdin: 'pipe'`,
        { argument: 'id', reason: 'stdin is closed' },
        { cause: error },
      )
    }
  }

  async kill(id: string, signal?: Signal): Promise<void> {
    await this.get(id)
    const { process } = await this.#context.sandbox.attach(id)
    await process.kill(signal)
  }

  async #inputOf(id: string): Promise<WritableStreamDefaultWriter<Uint8Array>> {
    const known = this.#inputs.get(id)
    if (known !== undefined) return known
    const { process } = await this.#context.sandbox.attach(id)
    const writer = process.stdin.getWriter()
    this.#inputs.set(id, writer)
    return writer
  }
}

/** What the ring holds; when that is nothing, what comes first within the time to wait. */
async function readFor(
  process: SandboxProcess,
  from: { readonly availableBytes: number; readonly ended: boolean },
  options: ReadOutputOptions,
): Promise<Uint8Array> {
  const maxBytes = options.maxBytes ?? DEFAULT_READ_BYTES
  const waitMs = from.ended ? 0 : (options.waitMs ?? 0)
  const wanted = Math.min(maxBytes, from.availableBytes)
  const reader = process.stdout.getReader()
  const over = deadline(waitMs, options.signal)
  const chunks: Uint8Array[] = []
  let sizeBytes = 0
  try {
    while (sizeBytes < wanted || (sizeBytes === 0 && waitMs > 0)) {
      const result = await Promise.race([reader.read(), ...(sizeBytes < wanted ? [] : [over.promise])])
      if (result === undefined || result.done) break
      const kept = result.value.subarray(0, maxBytes - sizeBytes)
      chunks.push(kept)
      sizeBytes += kept.length
    }
  } finally {
    over.clear()
    await reader.cancel()
  }
  return Buffer.concat(chunks)
}

function deadline(waitMs: number, signal: AbortSignal | undefined): { promise: Promise<undefined>; clear: () => void } {
  let clear = (): void => undefined
  const promise = new Promise<undefined>((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve(undefined)
    }
    const timer = setTimeout(done, waitMs)
    signal?.addEventListener('abort', done, { once: true })
    clear = done
  })
  return { promise, clear }
}

function unknownProcess(id: string): SandboxError<'not_found'> {
  return new SandboxError('not_found', `there is no process ${id} in this session; list() names them`, { path: id })
}
