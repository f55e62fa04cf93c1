/** Bytes kept from the beginning of all output, and from its end. */
const HEAD_BYTES = 128 * 1024
const TAIL_BYTES = 1024 * 1024

/** A stretch of output without a gap. */
export interface LogPiece {
  /** Offset of the first byte in all output. */
  readonly from: number
  readonly bytes: Buffer
}

/**
 * The output of one command, by offset. Keeps the beginning and the end; what lies between is forgotten once there is too
 * much of it, so that a command that never stops writing costs no more than this.
 */
export class OutputLog {
  readonly #head: Uint8Array[] = []
  #headSize = 0
  #tail: Uint8Array[] = []
  #tailSize = 0
  #totalBytes = 0

  get totalBytes(): number {
    return this.#totalBytes
  }

  add(chunk: Uint8Array): void {
    this.#totalBytes += chunk.length
    const head = chunk.subarray(0, HEAD_BYTES - this.#headSize)
    if (head.length > 0) {
      this.#head.push(head)
      this.#headSize += head.length
    }
    if (head.length < chunk.length) this.#addTail(chunk.subarray(head.length))
  }

  /** What is kept of `from` to `to`: one piece, or two with a gap between them, or none. */
  read(from: number, to: number = this.#totalBytes): readonly LogPiece[] {
    const tailStart = this.#totalBytes - this.#tailSize
    const head = { from: 0, bytes: Buffer.concat(this.#head) }
    const tail = { from: tailStart, bytes: Buffer.concat(this.#tail) }
    const kept =
      tailStart === head.bytes.length ? [{ from: 0, bytes: Buffer.concat([head.bytes, tail.bytes]) }] : [head, tail]
    return kept.map((piece) => between(piece, from, to)).filter(({ bytes }) => bytes.length > 0)
  }

  #addTail(chunk: Uint8Array): void {
    this.#tail.push(chunk)
    this.#tailSize += chunk.length
    let dropped = 0
    // Only whole chunks are dropped: cutting one would not free its memory.
    while (this.#tailSize - this.#tail[dropped]!.length >= TAIL_BYTES) this.#tailSize -= this.#tail[dropped++]!.length
    if (dropped > 0) this.#tail.splice(0, dropped)
    // Many small chunks cost more than what is in them.
    if (this.#tail.length > 4_096) this.#tail = [Buffer.concat(this.#tail)]
  }
}

function between({ from: start, bytes }: LogPiece, from: number, to: number): LogPiece {
  const first = Math.max(from, start)
  return { from: first, bytes: bytes.subarray(first - start, Math.max(to - start, first - start)) }
}

/** Bytes up to the last whole UTF-8 character: what follows may be the beginning of one. */
export function wholeCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!
    if ((byte & 0xc0) === 0x80) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return length > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}
