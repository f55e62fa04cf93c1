import { aborted } from '../check-argument.js'
import type { OpenFile } from '../durable-file.js'
import { unavailable } from '../map-file-error.js'

const CHUNK_BYTES = 256 * 1024

export interface StreamFileOptions {
  readonly offset: number
  /** Exclusive. */
  readonly end: number
  readonly signal: AbortSignal | undefined
  readonly mapError: (error: unknown) => unknown
}

/** Reads only when asked, and closes the file when it is drained, cancelled, aborted or fails. */
export function streamFile(file: OpenFile, options: StreamFileOptions): ReadableStream<Uint8Array> {
  const { end, signal, mapError } = options
  let position = options.offset
  let isOpen = true
  let onAbort = (): void => undefined
  const close = async (): Promise<void> => {
    signal?.removeEventListener('abort', onAbort)
    if (!isOpen) return
    isOpen = false
    await file.close()
  }
  const read = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    if (position < end) {
      const buffer = new Uint8Array(Math.min(CHUNK_BYTES, end - position))
      const count = await file.readInto(buffer, position)
      if (count === 0) throw unavailable('folder blob store', 'a blob became shorter while it was read')
      position += count
      if (isOpen) controller.enqueue(buffer.subarray(0, count))
    }
    if (position >= end && isOpen) {
      await close()
      controller.close()
    }
  }
  let reading: Promise<void> = Promise.resolve()
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        if (signal === undefined) return
        onAbort = () => {
          controller.error(aborted(signal))
          // The descriptor must not be closed, and its number given to another file, while it is being read.
          void reading.then(close, close).catch(() => undefined)
        }
        signal.addEventListener('abort', onAbort, { once: true })
        if (signal.aborted) onAbort()
      },
      async pull(controller) {
        reading = read(controller)
        try {
          await reading
        } catch (error) {
          await close().catch(() => undefined)
          throw mapError(error)
        }
      },
      async cancel() {
        await reading.catch(() => undefined)
        await close()
      },
    },
    { highWaterMark: 0 },
  )
}
