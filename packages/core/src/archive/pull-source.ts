import { SandboxError } from '../errors/sandbox-error.js'

/**
 * One way to draw items from a web stream or an async iterable, which an abort can always interrupt: also while the other
 * side stalls. (A race with a promise that lives as long as the signal would keep every item alive.)
 */
export class PullSource<T> {
  readonly #pull: () => Promise<{ done?: boolean; value?: T | undefined }>
  readonly #close: (reason: unknown) => Promise<unknown> | undefined
  readonly #signal: AbortSignal | undefined
  readonly #onAbort: () => void
  #interrupt: ((reason: unknown) => void) | undefined
  #settled = true
  #ended = false

  constructor(source: ReadableStream<T> | AsyncIterable<T>, signal?: AbortSignal) {
    if ('getReader' in source) {
      const reader = source.getReader()
      this.#pull = () => reader.read()
      this.#close = (reason) => reader.cancel(reason)
    } else {
      const iterator = source[Symbol.asyncIterator]()
      this.#pull = () => iterator.next() as Promise<IteratorResult<T>>
      this.#close = () => iterator.return?.()
    }
    this.#signal = signal
    this.#onAbort = () => this.#interrupt?.(aborted(signal))
    signal?.addEventListener('abort', this.#onAbort, { once: true })
  }

  /** The next item, or `undefined` at the end. Throws what the source throws, or `aborted`. */
  async next(): Promise<T | undefined> {
    if (this.#signal?.aborted) throw aborted(this.#signal)
    if (this.#ended) return undefined
    const result = await new Promise<{ done?: boolean; value?: T | undefined }>((resolve, reject) => {
      this.#interrupt = reject
      this.#settled = false
      this.#pull().then(
        (value) => {
          this.#settled = true
          resolve(value)
        },
        (error: unknown) => {
          this.#settled = true
          this.#ended = true
          reject(error as Error)
        },
      )
    })
    if (result.done === true) {
      this.#ended = true
      return undefined
    }
    return result.value
  }

  /**
   * Tells the source that nothing more is wanted. Never throws: it is called because something else is over or has failed,
   * and that is what the caller must hear. Whoever still waits for an item gets `aborted`; a stalled source is not waited
   * for.
   */
  async close(reason?: unknown): Promise<void> {
    this.#signal?.removeEventListener('abort', this.#onAbort)
    if (this.#ended) return
    this.#ended = true
    this.#interrupt?.(aborted(undefined))
    const closing = Promise.resolve(this.#close(reason)).catch(() => undefined)
    if (this.#settled) await closing
  }
}

function aborted(signal: AbortSignal | undefined): SandboxError {
  return new SandboxError('aborted', 'The operation was aborted by its signal.', {}, { cause: signal?.reason })
}
