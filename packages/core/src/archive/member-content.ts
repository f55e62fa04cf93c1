import { archiveRejected } from './archive-error.js'
import type { ByteQueue } from './byte-queue.js'
import { BLOCK_BYTES } from './tar-header.js'

const PIECE_BYTES = 256 * 1024

/** The content of the member at hand: gives out `sizeBytes` of the input, once, and then leaves the input behind them. */
export class MemberContent {
  readonly #input: ByteQueue
  readonly #member: string
  readonly #paddingBytes: number
  #leftBytes: number
  #reading: Promise<unknown> = Promise.resolve()
  #over = false

  constructor(input: ByteQueue, member: string, sizeBytes: number) {
    this.#input = input
    this.#member = member
    this.#leftBytes = sizeBytes
    this.#paddingBytes = (BLOCK_BYTES - (sizeBytes % BLOCK_BYTES)) % BLOCK_BYTES
  }

  stream(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const piece = await this.#read(() => this.#piece())
          if (piece !== undefined) controller.enqueue(piece)
          if (this.#leftBytes === 0) controller.close()
        },
      },
      { highWaterMark: 0 },
    )
  }

  bytes(): Promise<Uint8Array> {
    return this.#read(async () => {
      const length = this.#leftBytes
      if (!(await this.#input.fill(length))) throw this.#cutOff()
      this.#leftBytes = 0
      return this.#input.take(length)
    })
  }

  /** Ends the reading of this content, whatever of it is left, and moves on to the next header. */
  async finish(): Promise<void> {
    this.#over = true
    await this.#reading.catch(() => undefined)
    if (!(await this.#input.skip(this.#leftBytes + this.#paddingBytes))) throw this.#cutOff()
  }

  #read<T>(read: () => Promise<T>): Promise<T> {
    if (this.#over) {
      return Promise.reject(
        new TypeError('The content of an archive member can only be read before the next one is asked for.'),
      )
    }
    const reading = this.#reading.then(read)
    this.#reading = reading
    // Whoever asked for it hears of a failure; nobody else has to.
    reading.catch(() => undefined)
    return reading
  }

  async #piece(): Promise<Uint8Array | undefined> {
    if (this.#leftBytes === 0) return undefined
    const piece = await this.#input.some(Math.min(this.#leftBytes, PIECE_BYTES))
    if (piece === undefined) throw this.#cutOff()
    this.#leftBytes -= piece.length
    return piece
  }

  #cutOff(): Error {
    return archiveRejected(this.#member, 'the archive ends within it')
  }
}
