import { lstat, mkdir, rename, rmdir, unlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type {
  BlobStat,
  BlobStore,
  BlobStoreFeatures,
  BlobSummary,
  GetBlobOptions,
  PutBlobOptions,
} from '../contracts/blob-store.js'
import type { ByteSource } from '../contracts/files.js'
import { failpoint } from '../failpoint.js'
import { blobNotFound, checkBlobKey, checkBlobPrefix, checkRange, checkSize } from './blob/blob-key.js'
import { blobPath } from './blob/blob-path.js'
import { readSource } from './blob/byte-source.js'
import type { ReadSourceOptions } from './blob/byte-source.js'
import { listBlobFolder, statBlob } from './blob/list-blob-folder.js'
import { streamFile } from './blob/stream-file.js'
import { throwIfAborted } from './check-argument.js'
import { createNew, openRegular, syncFolder } from './durable-file.js'
import type { NewFile, OpenFile } from './durable-file.js'
import { errnoOf, mapFileError, unavailable } from './map-file-error.js'
import { openStoreFolder } from './store-folder.js'
import { sweepTemporaries, temporaryPath } from './temporaries.js'

const STORE = 'folder blob store'
/** Smaller chunks are gathered up to this much before they are written. */
const WRITE_BYTES = 256 * 1024

export interface FolderBlobStoreOptions {
  /** Made with mode 0700 when it is missing. One folder, one store: nothing else may lie in it. */
  readonly folder: string
  /** Default true: a put that has returned survives a power cut. */
  readonly fsync?: boolean
}

/**
 * Blobs as files of mode 0600, for all processes of one machine. A put writes to a temporary file, makes it durable and
 * renames it; what a dead process left half written is swept when the store is next opened. `modifiedAtMs` is the file
 * system's time of the last byte written. Links in the folder are not followed: a blob that is one is not there, and a
 * folder that is one makes the store unavailable to keys beneath it.
 */
export function createFolderBlobStore(options: FolderBlobStoreOptions): BlobStore {
  return new FolderBlobStore(options)
}

class FolderBlobStore implements BlobStore {
  readonly features: BlobStoreFeatures = Object.freeze({ ranges: true, maxBytes: null })
  readonly #blobs: string
  readonly #temporaries: string
  readonly #folder: string
  readonly #fsync: boolean
  #opened: Promise<void> | undefined
  #closed = false

  constructor({ folder, fsync = true }: FolderBlobStoreOptions) {
    if (typeof folder !== 'string' || folder === '') throw new TypeError(`${STORE} needs a folder`)
    this.#folder = resolve(folder)
    this.#blobs = join(this.#folder, 'blobs')
    this.#temporaries = join(this.#folder, 'tmp')
    this.#fsync = fsync
  }

  async put(key: string, data: ByteSource, options: PutBlobOptions = {}): Promise<void> {
    checkBlobKey(key)
    const { sizeBytes, signal } = options
    checkSize(sizeBytes)
    await this.#guarded(key, signal, async () => {
      const temporary = temporaryPath(this.#temporaries)
      await this.#fill(temporary, data, { sizeBytes, signal })
      try {
        throwIfAborted(signal)
        failpoint('blob.put.written')
        await this.#publish(temporary, key)
      } catch (error) {
        await unlink(temporary).catch(() => undefined)
        throw error
      }
    })
  }

  async get(key: string, options: GetBlobOptions = {}): Promise<ReadableStream<Uint8Array>> {
    checkBlobKey(key)
    return await this.#guarded(key, options.signal, async () => {
      checkRange(options.range ?? {}, 0)
      await this.#checkFolders(key)
      const file = await this.#openBlob(key)
      const range = checkRange(options.range ?? {}, file.stat.size)
      return streamFile(file, {
        ...range,
        signal: options.signal,
        mapError: (error) => mapFileError(error, STORE, key),
      })
    })
  }

  async head(key: string, options: { readonly signal?: AbortSignal } = {}): Promise<BlobStat | undefined> {
    checkBlobKey(key)
    return await this.#guarded(key, options.signal, async () => {
      await this.#checkFolders(key)
      const stat = await statBlob(this.#pathOf(key))
      if (stat !== undefined) return { sizeBytes: stat.size, modifiedAtMs: stat.mtimeMs }
      await lstat(this.#blobs)
      return undefined
    })
  }

  async delete(key: string, options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    checkBlobKey(key)
    await this.#guarded(key, options.signal, async () => {
      await this.#checkFolders(key)
      try {
        await unlink(this.#pathOf(key))
      } catch (error) {
        if (errnoOf(error) !== 'ENOENT') throw error
        await lstat(this.#blobs)
        return
      }
      failpoint('blob.delete.unlinked')
      if (this.#fsync) await this.#syncUpwards(this.#pathOf(key))
      await this.#removeEmpty(dirname(this.#pathOf(key)))
    })
  }

  async *list(prefix: string, { signal }: { readonly signal?: AbortSignal } = {}): AsyncGenerator<BlobSummary, void> {
    checkBlobPrefix(prefix)
    await this.#guarded(prefix, signal, () => lstat(this.#blobs))
    try {
      yield* listBlobFolder({ folder: this.#blobs, base: '', prefix, signal })
    } catch (error) {
      throw mapFileError(error, STORE, prefix)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
  }

  async #guarded<T>(key: string, signal: AbortSignal | undefined, task: () => Promise<T>): Promise<T> {
    throwIfAborted(signal)
    if (this.#closed) throw unavailable(STORE, 'it was closed', { retryable: false })
    try {
      this.#opened ??= this.#open()
      await this.#opened
    } catch (error) {
      this.#opened = undefined
      throw mapFileError(error, STORE, this.#folder)
    }
    try {
      throwIfAborted(signal)
      return await task()
    } catch (error) {
      throw mapFileError(error, STORE, key)
    }
  }

  async #open(): Promise<void> {
    await openStoreFolder(this.#folder, [this.#blobs, this.#temporaries], this.#fsync)
    await sweepTemporaries(this.#temporaries)
  }

  #pathOf(key: string): string {
    return join(this.#blobs, ...blobPath(key))
  }

  /** The folders above a blob must be folders, not links to some. Missing ones are no trouble here. */
  async #checkFolders(key: string): Promise<void> {
    let path = this.#blobs
    for (const name of blobPath(key).slice(0, -1)) {
      path = join(path, name)
      try {
        if (!(await lstat(path)).isDirectory()) throw unavailable(STORE, `${path} is no folder`, { retryable: false })
      } catch (error) {
        if (errnoOf(error) === 'ENOENT') return
        throw error
      }
    }
  }

  async #openBlob(key: string): Promise<OpenFile> {
    try {
      const file = await openRegular(this.#pathOf(key))
      if (file !== undefined) return file
    } catch (error) {
      if (errnoOf(error) !== 'ELOOP') throw error
    }
    await lstat(this.#blobs)
    throw blobNotFound(key)
  }

  async #fill(path: string, data: ByteSource, options: ReadSourceOptions): Promise<void> {
    const file = await createNew(path, { fsync: this.#fsync })
    try {
      await writeGathered(file, readSource(data, options))
      failpoint('blob.put.filled')
      await file.finish()
    } catch (error) {
      await file.discard().catch(() => undefined)
      throw error
    }
  }

  async #publish(temporary: string, key: string): Promise<void> {
    const path = this.#pathOf(key)
    for (let attempt = 0; ; attempt++) {
      await this.#checkFolders(key)
      try {
        await mkdir(dirname(path), { recursive: true, mode: 0o700 })
        await rename(temporary, path)
        break
      } catch (error) {
        // A delete beside us removed the folder because it was empty.
        if (errnoOf(error) !== 'ENOENT' || attempt === 100) throw error
      }
    }
    failpoint('blob.put.renamed')
    if (this.#fsync) await this.#syncUpwards(path)
  }

  /** All of them: a folder may have been made a moment ago by somebody who has not come to this yet. */
  async #syncUpwards(path: string): Promise<void> {
    const folders: string[] = []
    for (let folder = dirname(path); folder !== this.#folder; folder = dirname(folder)) folders.push(folder)
    await Promise.all(folders.map(syncFolder))
  }

  async #removeEmpty(folder: string): Promise<void> {
    try {
      for (let empty = folder; empty !== this.#blobs; empty = dirname(empty)) await rmdir(empty)
    } catch (error) {
      if (!['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(errnoOf(error) ?? '')) throw error
    }
  }
}

async function writeGathered(file: NewFile, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const gathered = Buffer.allocUnsafe(WRITE_BYTES)
  let filled = 0
  const flush = async (): Promise<void> => {
    const bytes = gathered.subarray(0, filled)
    filled = 0
    await file.write(bytes)
  }
  for await (const chunk of chunks) {
    if (filled + chunk.length > WRITE_BYTES) await flush()
    if (chunk.length >= WRITE_BYTES) await file.write(chunk)
    else {
      gathered.set(chunk, filled)
      filled += chunk.length
    }
  }
  await flush()
}
