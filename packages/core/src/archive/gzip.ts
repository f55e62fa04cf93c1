import { constants, createGunzip, createGzip } from 'node:zlib'
import type { Gunzip } from 'node:zlib'
import { archiveLimit, archiveRejected } from './archive-error.js'
import type { ArchiveLimits } from './archive-limits.js'
import type { ByteQueue } from './byte-queue.js'

const CHUNK_BYTES = 128 * 1024
const RATIO_GRACE_BYTES = 16 * 1024 ** 2
const OS_UNKNOWN = 0xff

/** Whether these are the first bytes of a gzip stream. */
export function isGzip(start: Uint8Array): boolean {
  return start[0] === 0x1f && start[1] === 0x8b
}

/**
 * Unpacks a gzip stream, also one of several parts. After the last part only zero bytes may follow: what Node ignores there
 * in silence is `archive_rejected`. Errors of the input pass through.
 */
export async function* gunzipChunks(
  input: ByteQueue,
  limits: ArchiveLimits,
): AsyncGenerator<Uint8Array, void, undefined> {
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES })
  const feed = new GunzipFeed(input, gunzip)
  const feeding = feed.run()
  let unpackedBytes = 0
  try {
    for await (const chunk of gunzip as AsyncIterable<Uint8Array>) {
      unpackedBytes += chunk.length
      if (unpackedBytes > RATIO_GRACE_BYTES && unpackedBytes > feed.fedBytes * limits.maxExpansionRatio) {
        throw archiveLimit('maxExpansionRatio', limits)
      }
      yield chunk
    }
    await feeding
    await feed.expectOnlyZeros()
  } catch (error) {
    throw isZlibError(error)
      ? archiveRejected('', `its gzip data is damaged or cut off (${error.message})`, error)
      : error
  } finally {
    gunzip.destroy()
    await feeding
  }
}

/** Packs chunks. The same input gives the same bytes, as long as the same zlib does it. */
export async function* gzipChunks(
  chunks: AsyncGenerator<Uint8Array, void, undefined>,
  level: number = constants.Z_BEST_SPEED,
): AsyncGenerator<Uint8Array, void, undefined> {
  const gzip = createGzip({ level, chunkSize: CHUNK_BYTES })
  let open = true
  gzip.once('close', () => (open = false))
  const feeding = (async () => {
    try {
      for await (const chunk of chunks) {
        await new Promise((resolve) => {
          gzip.once('close', resolve)
          gzip.write(chunk, (error) => {
            gzip.off('close', resolve)
            resolve(error)
          })
        })
        if (!open) return
      }
      gzip.end()
    } catch (error) {
      gzip.destroy(error as Error)
    }
  })()
  let first = true
  try {
    for await (const chunk of gzip as AsyncIterable<Uint8Array>) {
      // The header's tenth byte names the operating system, which is nobody's business and not deterministic.
      if (first) chunk[9] = OS_UNKNOWN
      first = false
      yield chunk
    }
  } finally {
    gzip.destroy()
    await feeding
  }
}

/** Hands the input to zlib chunk by chunk and remembers what zlib left unread. */
class GunzipFeed {
  fedBytes = 0
  readonly #input: ByteQueue
  readonly #gunzip: Gunzip
  #last: Uint8Array = new Uint8Array(0)
  #closed = false
  #wake: (() => void) | undefined

  constructor(input: ByteQueue, gunzip: Gunzip) {
    this.#input = input
    this.#gunzip = gunzip
    // zlib never calls back for a chunk in which the gzip data ended, hence these.
    const over = (): void => {
      this.#closed = true
      this.#wake?.()
    }
    gunzip.once('end', over)
    gunzip.once('close', over)
  }

  /** Never rejects: what fails here comes out of the stream. */
  async run(): Promise<void> {
    try {
      while (!this.#closed) {
        const chunk = await this.#input.some(CHUNK_BYTES)
        if (this.#closed) return
        if (chunk === undefined) {
          this.#gunzip.end()
          return
        }
        this.fedBytes += chunk.length
        this.#last = chunk
        await new Promise<void>((resolve) => {
          this.#wake = resolve
          this.#gunzip.write(chunk, () => resolve())
        })
      }
    } catch (error) {
      this.#gunzip.destroy(error as Error)
    }
  }

  async expectOnlyZeros(): Promise<void> {
    const unread = this.fedBytes - this.#gunzip.bytesWritten
    let rest: Uint8Array | undefined = unread > 0 ? this.#last.subarray(-unread) : new Uint8Array(0)
    while (rest !== undefined) {
      if (rest.some((byte) => byte !== 0)) throw archiveRejected('', 'something follows its gzip data')
      rest = await this.#input.some(CHUNK_BYTES)
    }
  }
}

function isZlibError(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('Z_')
}
