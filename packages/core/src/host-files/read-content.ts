import { closeSync, constants, fstatSync, read, readSync } from 'node:fs'
import type { FileStat, ReadRange } from '../contracts/files.js'
import { SandboxError } from '../errors/sandbox-error.js'
import { toFileStat } from './describe-stat.js'
import { mapFileError } from './map-error.js'
import { openContent } from './open-content.js'
import type { Place } from './place.js'

/** Files up to this size are read in one go, and their descriptor is closed at once. */
const AT_ONCE_BYTES = 256 * 1024
const CHUNK_BYTES = 256 * 1024

/** The contents of a file, held by a descriptor until `close`. */
export interface ReadContent {
  /** All of it, when it was read at once. */
  readonly bytes: Uint8Array | null
  /** To be asked for once. */
  stream(): ReadableStream<Uint8Array>
  /** The same for who wants nothing else: closes by itself when it is drained or cancelled, or at once when it can. */
  streamAlone(): ReadableStream<Uint8Array>
  /** The file's stat as it is now. */
  after(): FileStat
  close(): Promise<void>
}

/** Opens contents for reading; small ones are read at once. The place may be closed afterwards. */
export function readContent(place: Place, path: string, range: ReadRange = {}): ReadContent {
  checkRange(range)
  return contentOf(openContent(place, path, constants.O_RDONLY), Number(place.stat.size), { path, range })
}

/** The same of a regular file that is open, and that was so large a moment ago. Closes it on failure. */
export function contentOf(
  fd: number,
  sizeBytes: number,
  { path, range = {} }: { readonly path: string; readonly range?: ReadRange },
): ReadContent {
  const { start, end } = checkRange(range)
  try {
    const length = Math.max(0, Math.min(sizeBytes, end) - start)
    const bytes = length > AT_ONCE_BYTES ? undefined : readAtOnce(fd, { start, length, end })
    return bytes === undefined ? new StreamedContent({ fd, path, start, end }) : new WholeContent(fd, bytes)
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

class WholeContent implements ReadContent {
  readonly bytes: Uint8Array
  #fd: number | undefined

  constructor(fd: number, bytes: Uint8Array) {
    this.#fd = fd
    this.bytes = bytes
  }

  stream(): ReadableStream<Uint8Array> {
    return streamOf(this.bytes)
  }

  streamAlone(): ReadableStream<Uint8Array> {
    this.#close()
    return streamOf(this.bytes)
  }

  after(): FileStat {
    return statOf(this.#fd)
  }

  close(): Promise<void> {
    this.#close()
    return Promise.resolve()
  }

  #close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }
}

/** Undefined when more is there than its size said, and more is wanted: the file is growing. */
function readAtOnce(
  fd: number,
  { start, length, end }: { readonly start: number; readonly length: number; readonly end: number },
): Uint8Array | undefined {
  const room = Math.min(length + 1, end - start)
  // Memory of its own and not a slice of Node's pool: a consumer may hand the buffer on.
  const buffer = Buffer.allocUnsafeSlow(room)
  let filled = 0
  while (filled < room) {
    const count = readSync(fd, buffer, filled, room - filled, start + filled)
    filled += count
    // As much as its size said and no more, though more was asked for: that is its end, and no call is needed to see it.
    if (count === 0 || (filled === length && filled < room)) return exactBytes(buffer, filled)
  }
  return length + 1 > end - start ? exactBytes(buffer, filled) : undefined
}

/** Whoever is handed the buffer behind it finds nothing there that was not read. */
function exactBytes(buffer: Buffer, sizeBytes: number): Uint8Array {
  buffer.fill(0, sizeBytes)
  return new Uint8Array(buffer.buffer, 0, sizeBytes)
}

function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      if (bytes.length > 0) controller.enqueue(bytes)
      controller.close()
    },
  })
}

/** Reads as it is pulled. */
class StreamedContent implements ReadContent {
  readonly bytes = null
  readonly #path: string
  readonly #end: number
  #fd: number | undefined
  #position: number
  #reading: Promise<unknown> | undefined

  constructor(of: { readonly fd: number; readonly path: string; readonly start: number; readonly end: number }) {
    this.#fd = of.fd
    this.#path = of.path
    this.#position = of.start
    this.#end = of.end
  }

  stream(): ReadableStream<Uint8Array> {
    return this.#streamThat(async () => undefined)
  }

  streamAlone(): ReadableStream<Uint8Array> {
    return this.#streamThat(() => this.close())
  }

  after(): FileStat {
    return statOf(this.#fd)
  }

  async close(): Promise<void> {
    const fd = this.#fd
    if (fd === undefined) return
    this.#fd = undefined
    // A descriptor closed under a running read may already be somebody else's file.
    await this.#reading
    closeSync(fd)
  }

  #streamThat(finish: () => Promise<void>): ReadableStream<Uint8Array> {
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      try {
        const chunk = await this.#read()
        if (chunk.length > 0) controller.enqueue(chunk)
        if (chunk.length > 0 && this.#position < this.#end) return
        await finish()
        controller.close()
      } catch (error) {
        await finish()
        throw mapFileError(error, this.#path)
      }
    }
    return new ReadableStream({ pull, cancel: finish }, { highWaterMark: 0 })
  }

  /** Empty at the end, and after `close`. */
  async #read(): Promise<Uint8Array> {
    if (this.#fd === undefined) return new Uint8Array()
    const buffer = new Uint8Array(Math.min(CHUNK_BYTES, this.#end - this.#position))
    const reading = readChunk(this.#fd, buffer, this.#position)
    this.#reading = reading.catch(() => undefined)
    const count = await reading
    this.#position += count
    return buffer.subarray(0, count)
  }
}

function statOf(fd: number | undefined): FileStat {
  if (fd === undefined)
    throw new TypeError('after() belongs to the result that is being looked at, not to an earlier one')
  return toFileStat(fstatSync(fd, { bigint: true }))
}

function readChunk(fd: number, buffer: Uint8Array, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    read(fd, buffer, 0, buffer.length, position, (error, count) => (error === null ? resolve(count) : reject(error)))
  })
}

function checkRange(range: ReadRange): { readonly start: number; readonly end: number } {
  const { offset = 0, length = Number.MAX_SAFE_INTEGER } = range
  for (const [argument, value] of Object.entries({ offset, length })) {
    if (Number.isSafeInteger(value) && value >= 0) continue
    const reason = 'it is not a whole number from 0 on'
    throw new SandboxError('invalid_argument', `The ${argument} of a read cannot be used: ${reason}.`, {
      argument,
      reason,
    })
  }
  return { start: offset, end: Math.min(offset + length, Number.MAX_SAFE_INTEGER) }
}
