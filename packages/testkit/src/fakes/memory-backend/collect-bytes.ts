import { assertNotAborted } from '@cofferdam/core/plugin'
import type { ByteSource } from '@cofferdam/core/plugin'

/** All bytes of a source, as a copy. Stops at once when the signal fires, also when the source never answers. */
export async function collectBytes(
  data: ByteSource,
  signal: AbortSignal | undefined,
  operation: string,
): Promise<Uint8Array> {
  assertNotAborted(signal, operation)
  if (data instanceof Uint8Array) return data.slice()
  const iterator = (data as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
  const chunks: Uint8Array[] = []
  let sizeBytes = 0
  const abort = abortedPromise(signal)
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), abort.fired])
      if (next === undefined) {
        // Not awaited: a source that hangs would hang here too.
        void Promise.resolve(iterator.return?.()).catch(() => {})
        assertNotAborted(signal, operation)
      }
      if (next === undefined || next.done === true) break
      chunks.push(next.value.slice())
      sizeBytes += next.value.length
    }
  } finally {
    abort.stop()
  }
  const whole = new Uint8Array(sizeBytes)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.length
  }
  return whole
}

function abortedPromise(signal: AbortSignal | undefined): { readonly fired: Promise<undefined>; stop(): void } {
  if (signal === undefined) return { fired: new Promise(() => {}), stop() {} }
  let stop = (): void => {}
  const fired = new Promise<undefined>((resolve) => {
    const done = (): void => resolve(undefined)
    signal.addEventListener('abort', done, { once: true })
    stop = () => signal.removeEventListener('abort', done)
  })
  return { fired, stop: () => stop() }
}
