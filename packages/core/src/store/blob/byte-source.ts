import type { ByteSource } from '../../contracts/files.js'
import { aborted, invalid, throwIfAborted } from '../check-argument.js'

export interface ReadSourceOptions {
  /** What the source must give, when that is known. */
  readonly sizeBytes: number | undefined
  readonly signal: AbortSignal | undefined
}

/**
 * The chunks of a source, asked for one at a time. Checks the length, ends a source that is not drained, and does not wait
 * for one that has nothing to say when the signal fires.
 */
export async function* readSource(data: ByteSource, options: ReadSourceOptions): AsyncGenerator<Uint8Array, void> {
  const { sizeBytes, signal } = options
  let total = 0
  for await (const chunk of pull(data, signal)) {
    if (!(chunk instanceof Uint8Array)) throw invalid('data', 'a chunk is no Uint8Array')
    total += chunk.length
    if (sizeBytes !== undefined && total > sizeBytes)
      throw invalid('sizeBytes', `there are more than ${sizeBytes} bytes`)
    yield chunk
  }
  if (sizeBytes !== undefined && total !== sizeBytes)
    throw invalid('sizeBytes', `there are ${total}, not ${sizeBytes} bytes`)
}

async function* pull(data: ByteSource, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array, void> {
  throwIfAborted(signal)
  if (data instanceof Uint8Array) return yield data
  if (typeof data?.[Symbol.asyncIterator] !== 'function')
    throw invalid('data', 'it is neither bytes nor a stream of bytes')
  const iterator = data[Symbol.asyncIterator]()
  let isDrained = false
  const abort = abortRace(signal)
  try {
    for (;;) {
      const result = await abort.race(iterator.next())
      isDrained = result.done === true
      if (result.done === true) return
      yield result.value
    }
  } catch (error) {
    if (signal?.aborted !== true) isDrained = true
    throw error
  } finally {
    abort.forget()
    // Not awaited: a source that is stuck in `next` would keep us as well.
    if (!isDrained) void ending(iterator)
  }
}

async function ending(iterator: AsyncIterator<Uint8Array>): Promise<void> {
  try {
    await iterator.return?.()
  } catch {
    // The source's own trouble with ending; what we had from it is thrown away.
  }
}

function abortRace(signal: AbortSignal | undefined): { race<T>(task: Promise<T>): Promise<T>; forget(): void } {
  if (signal === undefined) return { race: (task) => task, forget: () => undefined }
  let onAbort = (): void => undefined
  const fired = new Promise<never>((_resolve, reject) => (onAbort = () => reject(aborted(signal))))
  fired.catch(() => undefined)
  signal.addEventListener('abort', onAbort, { once: true })
  return {
    race: (task) => Promise.race([task, fired]),
    forget: () => signal.removeEventListener('abort', onAbort),
  }
}
