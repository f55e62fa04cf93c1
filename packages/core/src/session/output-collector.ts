/**
 * Keeps the beginning and the end of a stream of bytes, and counts all of them. Holds at most `maxBytes`, in memory of its
 * own: the chunks it was given are free again.
 */
export class OutputCollector {
  readonly #head: HeadBytes
  readonly #tail: TailBytes
  #totalBytes = 0

  constructor(maxBytes: number) {
    this.#head = new HeadBytes(Math.ceil(maxBytes / 2))
    this.#tail = new TailBytes(Math.floor(maxBytes / 2))
  }

  get totalBytes(): number {
    return this.#totalBytes
  }

  get truncated(): boolean {
    return this.#totalBytes > this.#head.sizeBytes + this.#tail.sizeBytes
  }

  add(chunk: Uint8Array): void {
    this.#totalBytes += chunk.length
    this.#tail.add(this.#head.add(chunk))
  }

  /** What was kept: everything, or the beginning and the end without the middle. */
  bytes(): Uint8Array {
    return concat(this.#head.parts(), this.#tail.parts())
  }

  /** As UTF-8. Where the middle is missing, no character is cut in half and a line says how many bytes are. */
  text(): string {
    if (!this.truncated) return decode(this.bytes())
    const head = withoutPartialEnd(concat(this.#head.parts()))
    const tail = withoutPartialStart(concat(this.#tail.parts()))
    const missing = this.#totalBytes - head.length - tail.length
    return `${decode(head)}\n[… ${missing} bytes left out …]\n${decode(tail)}`
  }
}

/** The first bytes. */
class HeadBytes {
  readonly #limit: number
  #kept = new Uint8Array(0)
  sizeBytes = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Gives back what is no longer kept here. */
  add(chunk: Uint8Array): Uint8Array {
    const taken = chunk.subarray(0, this.#limit - this.sizeBytes)
    if (taken.length === 0) return chunk
    this.#kept = grown(this.#kept, this.sizeBytes + taken.length, this.#limit)
    this.#kept.set(taken, this.sizeBytes)
    this.sizeBytes += taken.length
    return chunk.subarray(taken.length)
  }

  parts(): Uint8Array[] {
    return [this.#kept.subarray(0, this.sizeBytes)]
  }
}

/** The last bytes: a ring, once it has its full size. */
class TailBytes {
  readonly #limit: number
  #kept = new Uint8Array(0)
  #start = 0
  sizeBytes = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  add(chunk: Uint8Array): void {
    const last = chunk.subarray(Math.max(0, chunk.length - this.#limit))
    if (last.length === 0) return
    this.#kept = grown(this.#kept, Math.min(this.sizeBytes + last.length, this.#limit), this.#limit)
    const capacity = this.#kept.length
    const at = (this.#start + this.sizeBytes) % capacity
    const first = last.subarray(0, capacity - at)
    this.#kept.set(first, at)
    this.#kept.set(last.subarray(first.length), 0)
    const over = Math.max(0, this.sizeBytes + last.length - capacity)
    this.#start = (this.#start + over) % capacity
    this.sizeBytes += last.length - over
  }

  parts(): Uint8Array[] {
    const first = this.#kept.subarray(this.#start, this.#start + this.sizeBytes)
    return [first, this.#kept.subarray(0, this.sizeBytes - first.length)]
  }
}

/** Room for `needed` bytes, and for as many again, but never for more than `limit`. */
function grown(bytes: Uint8Array<ArrayBuffer>, needed: number, limit: number): Uint8Array<ArrayBuffer> {
  if (needed <= bytes.length) return bytes
  const larger = new Uint8Array(Math.min(limit, Math.max(needed, bytes.length * 2)))
  larger.set(bytes)
  return larger
}

function concat(...parts: Uint8Array[][]): Uint8Array {
  return Buffer.concat(parts.flat())
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}

/** Without the rest of a character that begins before the bytes. */
export function withoutPartialStart(bytes: Uint8Array): Uint8Array {
  let start = 0
  while (start < 3 && isContinuation(bytes[start])) start++
  return bytes.subarray(start)
}

/** Without the beginning of a character that ends after the bytes. */
export function withoutPartialEnd(bytes: Uint8Array): Uint8Array {
  let lead = bytes.length - 1
  while (lead > bytes.length - 4 && isContinuation(bytes[lead])) lead--
  const byte = bytes[lead]
  if (byte === undefined || byte < 0xc0) return bytes
  const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
  return bytes.length - lead < length ? bytes.subarray(0, lead) : bytes
}
