import { archiveRejected } from './archive-error.js'
import type { ArchiveEntry } from './archive-member.js'
import { gzipChunks } from './gzip.js'
import { PullSource } from './pull-source.js'
import { encodeTarHeader } from './tar-encode.js'
import { BLOCK_BYTES } from './tar-header.js'
import { parseRelativePath } from '../path/relative-path.js'

export interface WriteArchiveOptions {
  /** Compress. `true` is level 1, which is what a moving workspace wants. Default false. */
  readonly gzip?: boolean | { readonly level: number }
  readonly signal?: AbortSignal
}

/**
 * Writes a tar archive: ustar, with pax headers for what ustar cannot say (long, non-ASCII or non-UTF-8 names, nanoseconds,
 * times before 1970, sizes from 8 GiB). Members stand in the order given. The same entries give the same bytes; nothing
 * comes from this machine or from the clock.
 *
 * Chunks are about 256 KiB; memory does not grow with the archive. Whatever is wrong with an entry makes the stream fail:
 * it never ends well with an archive that is not what was asked for.
 *
 * The stream fails with `archive_rejected` when an entry cannot be said in a tar, or its content is not as long as it was
 * declared; with `aborted`; with what the entries or their contents throw. Cancelling it ends the entries.
 */
export function writeArchive(
  entries: AsyncIterable<ArchiveEntry> | ReadableStream<ArchiveEntry>,
  options: WriteArchiveOptions = {},
): ReadableStream<Uint8Array> {
  const stop = new AbortController()
  const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal])
  const tar = tarChunks(entries, signal)
  const { gzip = false } = options
  const chunks = gzip === false ? tar : gzipChunks(tar, gzip === true ? undefined : gzip.level)
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const { done, value } = await chunks.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      },
      cancel: async (reason) => {
        stop.abort(reason)
        await chunks.return()
      },
    },
    { highWaterMark: 0 },
  )
}

const CHUNK_BYTES = 256 * 1024
const END_BYTES = 2 * BLOCK_BYTES

async function* tarChunks(
  entries: AsyncIterable<ArchiveEntry> | ReadableStream<ArchiveEntry>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const source = new PullSource(entries, signal)
  const out = new ChunkBuffer()
  let failure: unknown
  try {
    for (let entry = await source.next(); entry !== undefined; entry = await source.next()) {
      const sizeBytes = declaredSize(entry)
      out.write(encodeTarHeader(entry, sizeBytes))
      if (entry.type === 'file') {
        if (entry.content instanceof Uint8Array) out.write(entry.content)
        else if (entry.content !== undefined) yield* streamed(entry, sizeBytes, { out, signal })
        out.pad((BLOCK_BYTES - (sizeBytes % BLOCK_BYTES)) % BLOCK_BYTES)
      }
      yield* out.full()
    }
    out.pad(END_BYTES)
    yield* out.rest()
  } catch (error) {
    failure = error
    throw error
  } finally {
    await source.close(failure)
  }
}

function declaredSize(entry: ArchiveEntry): number {
  parseRelativePath(entry.path, 'archive member')
  if (entry.type === 'hardlink') parseRelativePath(entry.linkTarget ?? '', 'target of a hard link')
  const { content, sizeBytes = content instanceof Uint8Array ? content.length : 0 } = entry
  if (entry.type !== 'file') {
    if (sizeBytes !== 0) throw archiveRejected(entry.path, `it is a ${entry.type} and has a size`)
    return 0
  }
  if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0)
    throw archiveRejected(entry.path, 'its size is not a number of bytes')
  const actual = content === undefined ? 0 : content instanceof Uint8Array ? content.length : sizeBytes
  if (actual !== sizeBytes) throw wrongLength(entry, sizeBytes, `has ${actual}`)
  return sizeBytes
}

async function* streamed(
  entry: ArchiveEntry,
  sizeBytes: number,
  { out, signal }: { out: ChunkBuffer; signal: AbortSignal },
): AsyncGenerator<Uint8Array, void, undefined> {
  const source = new PullSource(entry.content as ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>, signal)
  let writtenBytes = 0
  let failure: unknown
  try {
    for (let chunk = await source.next(); chunk !== undefined; chunk = await source.next()) {
      writtenBytes += chunk.length
      if (writtenBytes > sizeBytes) throw wrongLength(entry, sizeBytes, 'has more')
      out.write(chunk)
      if (out.hasFull) yield* out.full()
    }
    if (writtenBytes < sizeBytes) throw wrongLength(entry, sizeBytes, `has ${writtenBytes}`)
  } catch (error) {
    failure = error
    throw error
  } finally {
    await source.close(failure)
  }
}

function wrongLength(entry: ArchiveEntry, sizeBytes: number, but: string): Error {
  return archiveRejected(
    entry.path,
    `it was announced with ${sizeBytes} bytes and ${but}; did it change while it was read?`,
  )
}

/** Gathers pieces into chunks of one size. Copies, so that the pieces may be used again at once. */
class ChunkBuffer {
  #full: Uint8Array[] = []
  #chunk: Uint8Array = new Uint8Array(CHUNK_BYTES)
  #at = 0

  get hasFull(): boolean {
    return this.#full.length > 0
  }

  write(bytes: Uint8Array): void {
    let from = 0
    while (from < bytes.length) {
      const piece = bytes.subarray(from, from + CHUNK_BYTES - this.#at)
      this.#chunk.set(piece, this.#at)
      from += piece.length
      this.#advance(piece.length)
    }
  }

  /** Zeros. A fresh chunk is nothing else. */
  pad(length: number): void {
    for (let left = length; left > 0;) {
      const step = Math.min(left, CHUNK_BYTES - this.#at)
      left -= step
      this.#advance(step)
    }
  }

  *full(): Generator<Uint8Array, void, undefined> {
    const full = this.#full
    this.#full = []
    yield* full
  }

  *rest(): Generator<Uint8Array, void, undefined> {
    yield* this.full()
    if (this.#at > 0) yield this.#chunk.subarray(0, this.#at)
    this.#at = 0
  }

  #advance(length: number): void {
    this.#at += length
    if (this.#at < CHUNK_BYTES) return
    this.#full.push(this.#chunk)
    this.#chunk = new Uint8Array(CHUNK_BYTES)
    this.#at = 0
  }
}
