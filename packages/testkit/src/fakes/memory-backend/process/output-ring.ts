const RING_BYTES = 262_144

/** The last output of a process, by offset in all it ever wrote. What is older is dropped, and that is counted. */
export class OutputRing {
  readonly #chunks: Uint8Array[] = []
  #first = 0
  #end = 0

  /** Offset of the oldest byte kept. */
  get firstOffset(): number {
    return this.#first
  }

  /** Offset behind the newest byte. */
  get endOffset(): number {
    return this.#end
  }

  push(bytes: Uint8Array): void {
    this.#chunks.push(bytes)
    this.#end += bytes.length
    while (this.#end - this.#first > RING_BYTES) {
      const excess = this.#end - this.#first - RING_BYTES
      const oldest = this.#chunks[0]!
      if (oldest.length <= excess) this.#chunks.shift()
      else this.#chunks[0] = oldest.subarray(excess)
      this.#first += Math.min(oldest.length, excess)
    }
  }

  /** How much may be pushed before what lies at `offset` is dropped. */
  roomBefore(offset: number): number {
    return Math.max(0, offset + RING_BYTES - this.#end)
  }

  /** One piece from an offset that is still kept; empty at the end. */
  read(offset: number): Uint8Array {
    let at = this.#first
    for (const chunk of this.#chunks) {
      if (offset < at + chunk.length) return chunk.slice(offset - at)
      at += chunk.length
    }
    return new Uint8Array(0)
  }
}
