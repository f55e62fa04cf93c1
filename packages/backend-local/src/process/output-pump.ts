import { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { OutputRing } from './output-ring.js'

/**
 * What the pipe of an ended command can still hold: the system's buffer of a socket pair, with room to spare. Whatever comes
 * after that much was written by somebody whom the command left behind.
 */
const MAX_REST_BYTES = 1024 * 1024

export interface PumpOptions {
  readonly source: Readable
  readonly ring: OutputRing
  /** Put into the ring what a reader gets too. */
  readonly remembers: boolean
}

/**
 * One output of a command, on its way to a reader or into the ring.
 *
 * The source is read only when the reader asks, so that a slow reader blocks the command and nothing grows. The stream ends
 * with the command: what lay in the pipe when it ended is delivered, and then, also when a descendant holds the pipe open,
 * the reader sees the end while the rest goes to the ring.
 */
export class OutputPump {
  readonly #options: PumpOptions
  #stream: ReadableStream<Uint8Array> | undefined
  #toRing = false
  #hasEnded = false
  #hasExited = false
  #restBytes = 0
  #wake: () => void = () => undefined

  constructor(options: PumpOptions) {
    this.#options = options
    const { source } = options
    // With this listener Node reads no more than its buffer holds, and throws nothing away when the command exits.
    source.on('readable', () => this.#onReadable())
    source.once('end', () => this.#onEnd())
    source.once('close', () => this.#onEnd())
    // A terminal says EIO when its last user is gone.
    source.on('error', () => this.#onEnd())
  }

  get stream(): ReadableStream<Uint8Array> {
    return (this.#stream ??= new ReadableStream<Uint8Array>(
      { pull: (controller) => this.#pull(controller), cancel: () => this.drain() },
      { highWaterMark: 0 },
    ))
  }

  /** From now on everything goes to the ring. */
  drain(): void {
    this.#toRing = true
    this.#onReadable()
    this.#wake()
  }

  /** The command itself has ended. */
  exited(): void {
    this.#hasExited = true
    this.#wake()
    // What is left must not keep this process alive.
    this.holdOpen(false)
  }

  /** Whether waiting for this output keeps this process alive. */
  holdOpen(hold: boolean): void {
    // A socket; a terminal's stream has no such thing.
    const { source } = this.#options
    if (source instanceof Socket) {
      if (hold) source.ref()
      else source.unref()
    }
  }

  /** Closes our end, unless somebody has asked for the stream. */
  abandon(): void {
    if (this.#stream === undefined) this.#options.source.destroy()
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    for (;;) {
      if (this.#toRing) return controller.close()
      const chunk = this.#read()
      if (chunk !== null) return this.#deliver(chunk, controller)
      if (this.#hasEnded || this.#restBytes > MAX_REST_BYTES) break
      if (this.#hasExited) {
        const rest = await this.#readRest()
        if (rest === null) break
        return this.#deliver(rest, controller)
      }
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
    controller.close()
    this.drain()
  }

  #deliver(chunk: Uint8Array, controller: ReadableStreamDefaultController<Uint8Array>): void {
    if (this.#options.remembers) this.#options.ring.push(chunk)
    if (this.#hasExited) this.#restBytes += chunk.length
    controller.enqueue(chunk)
  }

  /** Null when the pipe is empty: between two turns of the loop lies one in which everything readable is read. */
  async #readRest(): Promise<Uint8Array | null> {
    await setImmediate()
    await setImmediate()
    return this.#read()
  }

  #read(): Uint8Array | null {
    return this.#options.source.read() as Uint8Array | null
  }

  #onReadable(): void {
    if (this.#toRing)
      for (let chunk = this.#read(); chunk !== null; chunk = this.#read()) this.#options.ring.push(chunk)
    else this.#wake()
  }

  #onEnd(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#wake()
  }
}
