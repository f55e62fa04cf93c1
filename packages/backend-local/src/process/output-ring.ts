/** How much output of a process is remembered for those who attach later. */
export const RING_BYTES: number = 256 * 1024

/** The last bytes of an output, by their offset in all of it. */
export class OutputRing {
  #buffer = new Uint8Array(0)
  readonly #waiting = new Set<() => void>()
  #startOffset = 0
  #endOffset = 0
  #isComplete = false

  /** Offset of the first byte that is still here. */
  get startOffset(): number {
    return this.#startOffset
  }

  /** Offset after the last byte. */
  get endOffset(): number {
    return this.#endOffset
  }

  get isComplete(): boolean {
    return this.#isComplete
  }

  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return
    const kept = chunk.subarray(Math.max(0, chunk.length - RING_BYTES))
    this.#makeRoom(this.#endOffset + chunk.length)
    this.#put(kept, this.#endOffset + chunk.length - kept.length)
    this.#endOffset += chunk.length
    this.#startOffset = Math.max(this.#startOffset, this.#endOffset - RING_BYTES)
    this.#wake()
  }

  /** All that the command itself wrote is here. */
  complete(): void {
    this.#isComplete = true
    this.#wake()
  }

  /** What is here from an offset on, or from the first byte kept when that is later. Empty: nothing is there yet. */
  read(offset: number): { readonly bytes: Uint8Array; readonly nextOffset: number } {
    const from = Math.min(Math.max(offset, this.#startOffset), this.#endOffset)
    const bytes = new Uint8Array(this.#endOffset - from)
    const at = from % RING_BYTES
    const head = this.#buffer.subarray(at, at + bytes.length)
    bytes.set(head)
    bytes.set(this.#buffer.subarray(0, bytes.length - head.length), head.length)
    return { bytes, nextOffset: this.#endOffset }
  }

  /** Resolves when something was pushed, or it is complete. */
  changed(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve))
  }

  #wake(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const resume of waiting) resume()
  }

  /** Most processes write little: memory grows with what they write, up to the whole ring. */
  #makeRoom(endOffset: number): void {
    if (this.#buffer.length >= Math.min(endOffset, RING_BYTES)) return
    let size = Math.max(4096, this.#buffer.length)
    while (size < endOffset && size < RING_BYTES) size *= 2
    const larger = new Uint8Array(size)
    larger.set(this.#buffer)
    this.#buffer = larger
  }

  #put(bytes: Uint8Array, offset: number): void {
    const at = offset % RING_BYTES
    // As long as the buffer grows nothing has wrapped round yet.
    const head = bytes.subarray(0, Math.min(bytes.length, RING_BYTES - at))
    this.#buffer.set(head, at)
    this.#buffer.set(bytes.subarray(head.length), 0)
  }
}
