import type { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'

const CHANNEL_BYTES = 64 * 1024
const RING_BYTES = 256 * 1024

/** What a command writes: lossless while its streams are read, and the end of it for whoever attaches later. */
export class CommandOutput {
  readonly stdout: ReadableStream<Uint8Array>
  readonly stderr: ReadableStream<Uint8Array>
  readonly #sources: readonly Readable[]
  readonly #waiting = new Set<() => void>()
  #ring = Buffer.alloc(0)
  #endOffset = 0
  #ended = false

  constructor(stdout: Readable, stderr: Readable) {
    this.#sources = [stdout, stderr]
    this.stdout = this.#channel(stdout)
    this.stderr = this.#channel(stderr)
  }

  /** Offset of the first byte that is kept. */
  get firstOffset(): number {
    return this.#endOffset - this.#ring.length
  }

  get endOffset(): number {
    return this.#endOffset
  }

  /** stdout and stderr in the order of arrival, from an offset on. */
  follow(fromOffset: number): ReadableStream<Uint8Array> {
    let offset = fromOffset
    return this.#stream(() => {
      const chunk = this.#ring.subarray(Math.max(0, offset - this.firstOffset))
      offset = this.#endOffset
      return chunk.length === 0 ? undefined : new Uint8Array(chunk)
    })
  }

  /** The command has ended, and what it wrote is in the pipes: when a turn brings nothing more, all of it is here. */
  async end(): Promise<void> {
    for (let before = -1; before !== this.#endOffset;) {
      before = this.#endOffset
      while (this.#sources.some((source) => source.isPaused())) await this.#change()
      await setImmediate()
      await setImmediate()
    }
    this.#ended = true
    this.#wake()
  }

  /** Holds 64 KiB for a slow reader, then lets the command wait. Cancelled, it keeps nothing. */
  #channel(source: Readable): ReadableStream<Uint8Array> {
    const queue: Uint8Array[] = []
    let queuedBytes = 0
    let cancelled = false
    source.on('data', (chunk: Buffer) => {
      this.#keep(chunk)
      if (cancelled || this.#ended) return
      queue.push(new Uint8Array(chunk))
      queuedBytes += chunk.length
      if (queuedBytes >= CHANNEL_BYTES) source.pause()
    })
    const next = (): Uint8Array | undefined => {
      const chunk = queue.shift()
      queuedBytes -= chunk?.length ?? 0
      if (queuedBytes < CHANNEL_BYTES) this.#resume(source)
      return chunk
    }
    const cancel = (): void => {
      cancelled = true
      this.#resume(source)
    }
    return this.#stream(next, cancel)
  }

  #stream(next: () => Uint8Array | undefined, cancel?: () => void): ReadableStream<Uint8Array> {
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      for (let chunk = next(); ; chunk = next()) {
        if (chunk !== undefined) return controller.enqueue(chunk)
        if (this.#ended) return controller.close()
        await this.#change()
      }
    }
    return new ReadableStream({ pull, cancel: () => cancel?.() }, { highWaterMark: 0 })
  }

  #keep(chunk: Buffer): void {
    this.#endOffset += chunk.length
    this.#ring = Buffer.concat([this.#ring, chunk]).subarray(-RING_BYTES)
    this.#wake()
  }

  #resume(source: Readable): void {
    if (!source.isPaused()) return
    source.resume()
    this.#wake()
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve))
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }
}
