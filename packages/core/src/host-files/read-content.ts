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

/** Contents that were read, or a descriptor to read the rest from, which is to be closed. */
type Opened = { readonly bytes: Uint8Array; readonly after: FileStat } | { readonly fd: number }

/** Contents of a file, with what its stat is afterwards. */
export interface ReadContent {
  /** Made when it is first asked for. */
  stream(): ReadableStream<Uint8Array>
  /** Of the same descriptor. Before the contents were drained: of now. */
  after(): FileStat
  /** Lets go of the descriptor, if there is still one. */
  close(): Promise<void>
}

/** Opens contents for reading. The place may be closed afterwards. */
export function readContent(place: Place, path: string, range: ReadRange = {}): ReadContent {
  const { start, end } = checkRange(range)
  const opened = open(place, path, start, end)
  if ('bytes' in opened) {
    return {
      stream: () => streamOf(opened.bytes),
      after: () => opened.after,
      close: () => Promise.resolve(),
    }
  }
  const source = new DescriptorSource({ fd: opened.fd, path, start, end })
  return {
    stream: () => new ReadableStream(source, { highWaterMark: 0 }),
    after: () => source.after(),
    close: () => source.close(),
  }
}

function open(place: Place, path: string, start: number, end: number): Opened {
  const fd = openContent(place, path, constants.O_RDONLY)
  let keep = false
  try {
    const length = Math.max(0, Math.min(Number(place.stat.size), end) - start)
    const bytes =
      length > AT_ONCE_BYTES
        ? undefined
        : readAtOnce(fd, start, { room: Math.min(length + 1, end - start), isAll: length + 1 > end - start })
    if (bytes !== undefined) return { bytes, after: toFileStat(fstatSync(fd, { bigint: true })) }
    keep = true
    return { fd }
  } finally {
    if (!keep) closeSync(fd)
  }
}

/** Undefined when more is there than its size said, and more is wanted: the file is growing. */
function readAtOnce(
  fd: number,
  start: number,
  { room, isAll }: { readonly room: number; readonly isAll: boolean },
): Uint8Array | undefined {
  // Memory of its own and not a slice of Node's pool: a consumer may hand the buffer on.
  const buffer = new Uint8Array(room)
  let filled = 0
  while (filled < room) {
    const count = readSync(fd, buffer, filled, room - filled, start + filled)
    if (count === 0) return buffer.subarray(0, filled)
    filled += count
  }
  return isAll ? buffer : undefined
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
class DescriptorSource {
  readonly #path: string
  readonly #end: number
  #fd: number | undefined
  #position: number
  #after: FileStat | undefined
  #reading: Promise<unknown> | undefined

  constructor(of: { readonly fd: number; readonly path: string; readonly start: number; readonly end: number }) {
    this.#fd = of.fd
    this.#path = of.path
    this.#position = of.start
    this.#end = of.end
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const fd = this.#fd
    if (fd === undefined) return
    const buffer = new Uint8Array(Math.min(CHUNK_BYTES, this.#end - this.#position))
    const reading = readChunk(fd, buffer, this.#position)
    this.#reading = reading.catch(() => undefined)
    try {
      const count = await reading
      // Cancelled meanwhile: the descriptor is not ours any more.
      if (this.#fd === undefined) return
      this.#position += count
      if (count > 0) controller.enqueue(buffer.subarray(0, count))
      if (count > 0 && this.#position < this.#end) return
      this.#finish()
      controller.close()
    } catch (error) {
      this.#finish()
      throw mapFileError(error, this.#path)
    }
  }

  cancel(): Promise<void> {
    return this.close()
  }

  async close(): Promise<void> {
    const fd = this.#fd
    if (fd === undefined) return
    this.#fd = undefined
    this.#after = toFileStat(fstatSync(fd, { bigint: true }))
    // A descriptor closed under a running read may already be somebody else's file.
    await this.#reading
    closeSync(fd)
  }

  after(): FileStat {
    if (this.#fd !== undefined) return toFileStat(fstatSync(this.#fd, { bigint: true }))
    if (this.#after === undefined) throw new TypeError('the contents were never opened')
    return this.#after
  }

  #finish(): void {
    const fd = this.#fd
    if (fd === undefined) return
    this.#fd = undefined
    this.#after = toFileStat(fstatSync(fd, { bigint: true }))
    closeSync(fd)
  }
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
