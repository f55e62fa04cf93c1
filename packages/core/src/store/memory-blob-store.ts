import type {
  BlobStat,
  BlobStore,
  BlobStoreFeatures,
  BlobSummary,
  GetBlobOptions,
  PutBlobOptions,
} from '../contracts/blob-store.js'
import type { ByteSource } from '../contracts/files.js'
import { blobNotFound, checkBlobKey, checkBlobPrefix, checkRange, checkSize } from './blob/blob-key.js'
import { readSource } from './blob/byte-source.js'
import { aborted, throwIfAborted } from './check-argument.js'
import { unavailable } from './map-file-error.js'

const CHUNK_BYTES = 256 * 1024

/** Blobs for as long as the object lives: for tests and for hosts that need nothing to outlive them. Copies in and out. */
export function createMemoryBlobStore(): BlobStore {
  return new MemoryBlobStore()
}

class MemoryBlobStore implements BlobStore {
  readonly features: BlobStoreFeatures = Object.freeze({ ranges: true, maxBytes: null })
  readonly #blobs = new Map<string, { readonly bytes: Uint8Array; readonly modifiedAtMs: number }>()
  #closed = false

  async put(key: string, data: ByteSource, options: PutBlobOptions = {}): Promise<void> {
    checkBlobKey(key)
    const { sizeBytes, signal } = options
    checkSize(sizeBytes)
    this.#check(signal)
    const chunks: Uint8Array[] = []
    for await (const chunk of readSource(data, { sizeBytes, signal })) chunks.push(chunk.slice())
    this.#check(signal)
    this.#blobs.set(key, { bytes: new Uint8Array(Buffer.concat(chunks)), modifiedAtMs: Date.now() })
  }

  async get(key: string, options: GetBlobOptions = {}): Promise<ReadableStream<Uint8Array>> {
    checkBlobKey(key)
    checkRange(options.range ?? {}, 0)
    this.#check(options.signal)
    const blob = this.#blobs.get(key)
    if (blob === undefined) throw blobNotFound(key)
    const { offset, end } = checkRange(options.range ?? {}, blob.bytes.length)
    return streamBytes(blob.bytes.subarray(offset, end), options.signal)
  }

  async head(key: string, options: { readonly signal?: AbortSignal } = {}): Promise<BlobStat | undefined> {
    checkBlobKey(key)
    this.#check(options.signal)
    const blob = this.#blobs.get(key)
    return blob === undefined ? undefined : { sizeBytes: blob.bytes.length, modifiedAtMs: blob.modifiedAtMs }
  }

  async delete(key: string, options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    checkBlobKey(key)
    this.#check(options.signal)
    this.#blobs.delete(key)
  }

  async *list(prefix: string, options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<BlobSummary, void> {
    checkBlobPrefix(prefix)
    this.#check(options.signal)
    for (const key of [...this.#blobs.keys()].filter((each) => each.startsWith(prefix)).sort()) {
      throwIfAborted(options.signal)
      const blob = this.#blobs.get(key)
      if (blob !== undefined) yield { key, sizeBytes: blob.bytes.length, modifiedAtMs: blob.modifiedAtMs }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
  }

  #check(signal: AbortSignal | undefined): void {
    throwIfAborted(signal)
    if (this.#closed) throw unavailable('memory blob store', 'it was closed', { retryable: false })
  }
}

function streamBytes(bytes: Uint8Array, signal: AbortSignal | undefined): ReadableStream<Uint8Array> {
  let position = 0
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (signal?.aborted === true) throw aborted(signal)
        if (position < bytes.length) controller.enqueue(bytes.slice(position, position + CHUNK_BYTES))
        position += CHUNK_BYTES
        if (position >= bytes.length) controller.close()
      },
    },
    { highWaterMark: 0 },
  )
}
