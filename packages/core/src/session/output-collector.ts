/**
 * Keeps the beginning and the end of a stream of bytes, and counts all of them. Holds at most `maxBytes` and one chunk.
 */
export class OutputCollector {
  readonly #headBytes: number
  readonly #tailBytes: number
  readonly #head: Uint8Array[] = []
  #headSize = 0
  #tail: Uint8Array[] = []
  #tailSize = 0
  #totalBytes = 0

  constructor(maxBytes: number) {
    this.#headBytes = Math.ceil(maxBytes / 2)
    this.#tailBytes = Math.floor(maxBytes / 2)
  }

  get totalBytes(): number {
    return this.#totalBytes
  }

  get truncated(): boolean {
    return this.#totalBytes > this.#headBytes + this.#tailBytes
  }

  add(chunk: Uint8Array): void {
    this.#totalBytes += chunk.length
    const room = this.#headBytes - this.#headSize
    const head = chunk.subarray(0, room)
    if (head.length > 0) {
      this.#head.push(head)
      this.#headSize += head.length
    }
    if (chunk.length > room) this.#addTail(chunk.subarray(Math.max(room, 0)))
  }

  /** What was kept: everything, or the beginning and the end without the middle. */
  bytes(): Uint8Array {
    return Buffer.concat([...this.#head, this.#keptTail()])
  }

  /** As UTF-8. Where the middle is missing, no character is cut in half and a line says how many bytes are. */
  text(): string {
    if (!this.truncated) return decode(this.bytes())
    const head = withoutPartialEnd(Buffer.concat(this.#head))
    const tail = withoutPartialStart(this.#keptTail())
    const missing = this.#totalBytes - head.length - tail.length
    return `${decode(head)}\n[… ${missing} bytes left out …]\n${decode(tail)}`
  }

  #addTail(chunk: Uint8Array): void {
    this.#tail.push(chunk)
    this.#tailSize += chunk.length
    // Whole chunks that no longer belong to the end go; the first that does is cut when it is read.
    let first = this.#tail[0]
    while (first !== undefined && this.#tailSize - first.length >= this.#tailBytes) {
      this.#tail.shift()
      this.#tailSize -= first.length
      first = this.#tail[0]
    }
    if (this.#tail.length > 1_024) this.#tail = [Buffer.concat(this.#tail)]
  }

  #keptTail(): Uint8Array {
    const tail = Buffer.concat(this.#tail)
    return tail.subarray(Math.max(tail.length - this.#tailBytes, 0))
  }
}

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

function withoutPartialStart(bytes: Uint8Array): Uint8Array {
  let start = 0
  while (start < 3 && isContinuation(bytes[start])) start++
  return bytes.subarray(start)
}

function withoutPartialEnd(bytes: Uint8Array): Uint8Array {
  let lead = bytes.length - 1
  while (lead > bytes.length - 4 && isContinuation(bytes[lead])) lead--
  const byte = bytes[lead]
  if (byte === undefined || byte < 0xc0) return bytes
  const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
  return bytes.length - lead < length ? bytes.subarray(0, lead) : bytes
}
