const EMPTY: Uint8Array = new Uint8Array(0)

/** What a queue draws from: the next chunk, or `undefined` at the end. */
export type NextChunk = () => Promise<Uint8Array | undefined>

/**
 * Cuts a sequence of chunks into the pieces that a parser wants. Copies only where a piece lies across chunks; holds no
 * more than the chunk at hand.
 */
export class ByteQueue {
  readonly #next: NextChunk
  #chunk: Uint8Array = EMPTY
  #at = 0

  constructor(next: NextChunk) {
    this.#next = next
  }

  /** Bytes that can be taken without waiting. */
  get buffered(): number {
    return this.#chunk.length - this.#at
  }

  /** Makes `length` bytes ready in one piece. False when the input ends before; what there is stays. */
  async fill(length: number): Promise<boolean> {
    if (this.buffered >= length) return true
    const pieces = [this.#chunk.subarray(this.#at)]
    let have = this.buffered
    while (have < length) {
      const chunk = await this.#next()
      if (chunk === undefined) break
      if (chunk.length === 0) continue
      pieces.push(chunk)
      have += chunk.length
    }
    this.#chunk = join(pieces, have)
    this.#at = 0
    return have >= length
  }

  /** Looks at bytes that are {@link buffered}. */
  peek(length: number): Uint8Array {
    return this.#chunk.subarray(this.#at, this.#at + length)
  }

  /** Takes bytes that are {@link buffered}. */
  take(length: number): Uint8Array {
    const piece = this.#chunk.subarray(this.#at, this.#at + length)
    this.#at += piece.length
    return piece
  }

  /** Takes what is at hand, at least one byte and at most `most`; `undefined` at the end. */
  async some(most: number): Promise<Uint8Array | undefined> {
    if (this.buffered === 0 && !(await this.fill(1))) return undefined
    return this.take(Math.min(most, this.buffered))
  }

  /** False when the input ends before. */
  async skip(length: number): Promise<boolean> {
    let left = length
    while (left > 0) {
      const piece = await this.some(left)
      if (piece === undefined) return false
      left -= piece.length
    }
    return true
  }
}

function join(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const filled = pieces.filter((piece) => piece.length > 0)
  if (filled.length === 1) return filled[0]!
  const whole = new Uint8Array(length)
  let at = 0
  for (const piece of filled) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}
