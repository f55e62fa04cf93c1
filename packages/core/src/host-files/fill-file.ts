import { readSync, write, writeSync } from 'node:fs'
import type { ByteSource } from '../contracts/files.js'
import { assertNotAborted } from '../errors/assert-not-aborted.js'
import { Pacer } from './pacer.js'

/** More than this is written by the thread pool, so that the event loop goes on. */
const AT_ONCE_BYTES = 256 * 1024
const PORTION_BYTES = 1024 * 1024

export interface FillOptions {
  readonly signal?: AbortSignal
  /** Counts what has been written, also when it fails. */
  readonly progress?: { bytes: number }
}

/** Writes a source to a descriptor, at its position. The source is used up, or cancelled when this fails. */
export async function fillFile(fd: number, source: ByteSource, options: FillOptions = {}): Promise<void> {
  const progress = options.progress ?? { bytes: 0 }
  if (source instanceof Uint8Array && source.length <= AT_ONCE_BYTES) return writeAtOnce(fd, source, progress)
  const pacer = new Pacer()
  const chunks = source instanceof Uint8Array ? [source] : untilAborted(source, options.signal)
  for await (const chunk of chunks) {
    if (!(chunk instanceof Uint8Array)) throw new TypeError('a byte source gave something other than a Uint8Array')
    for (let from = 0; from < chunk.length; from += PORTION_BYTES) {
      assertNotAborted(options.signal, 'files.write')
      const portion = chunk.subarray(from, from + PORTION_BYTES)
      if (portion.length <= AT_ONCE_BYTES) writeAtOnce(fd, portion, progress)
      else await writeInPool(fd, portion, progress)
    }
    if (pacer.due()) await pacer.rest()
  }
  assertNotAborted(options.signal, 'files.write')
}

/** What a descriptor's file holds, from its beginning. */
export async function* contentsOf(fd: number): AsyncGenerator<Uint8Array, void, undefined> {
  const pacer = new Pacer()
  for (let position = 0; ;) {
    const buffer = new Uint8Array(AT_ONCE_BYTES)
    const count = readSync(fd, buffer, 0, buffer.length, position)
    if (count === 0) return
    position += count
    yield buffer.subarray(0, count)
    if (pacer.due()) await pacer.rest()
  }
}

/** Tells a source that nobody will read it. Failures of its own are of no interest any more. */
export async function giveUp(source: ByteSource): Promise<void> {
  if (source instanceof Uint8Array) return
  try {
    if (source instanceof ReadableStream) {
      if (!source.locked) await source.cancel()
    } else await source[Symbol.asyncIterator]().return?.()
  } catch {
    return
  }
}

export function writeAtOnce(fd: number, bytes: Uint8Array, progress: { bytes: number }): void {
  for (let from = 0; from < bytes.length;) {
    const count = writeSync(fd, bytes, from, bytes.length - from)
    from += count
    progress.bytes += count
  }
}

async function writeInPool(fd: number, bytes: Uint8Array, progress: { bytes: number }): Promise<void> {
  for (let from = 0; from < bytes.length;) {
    const rest = bytes.subarray(from)
    const count = await new Promise<number>((resolve, reject) => {
      write(fd, rest, (error, written) => (error === null ? resolve(written) : reject(error)))
    })
    from += count
    progress.bytes += count
  }
}

/** A source that hangs must not outlive its signal, so that each step is a race with it. */
async function* untilAborted(
  source: Exclude<ByteSource, Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  const steps = stepsOf(source)
  let abort: () => void = () => undefined
  const aborted = new Promise<undefined>((resolve) => (abort = () => resolve(undefined)))
  signal?.addEventListener('abort', abort, { once: true })
  let finished = false
  try {
    for (;;) {
      const step = steps.next()
      const result = signal === undefined ? await step : await Promise.race([step, aborted])
      if (result === undefined) {
        step.catch(() => undefined)
        assertNotAborted(signal, 'files.write')
        return
      }
      if (result.done === true) {
        finished = true
        return
      }
      yield result.value
    }
  } finally {
    signal?.removeEventListener('abort', abort)
    // Not awaited: it may wait for the very step that hangs.
    if (!finished) steps.stop().catch(() => undefined)
  }
}

type Step = { readonly done: true } | { readonly done?: false; readonly value: Uint8Array }

interface Steps {
  next(): Promise<Step>
  stop(): Promise<unknown>
}

function stepsOf(source: Exclude<ByteSource, Uint8Array>): Steps {
  if (source instanceof ReadableStream) {
    const reader = source.getReader()
    return { next: () => reader.read() as Promise<Step>, stop: () => reader.cancel() }
  }
  const iterator = source[Symbol.asyncIterator]()
  return { next: () => iterator.next() as Promise<Step>, stop: async () => iterator.return?.() }
}
