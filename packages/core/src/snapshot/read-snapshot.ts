import { createHash, hash } from 'node:crypto'
import type { ArchiveLimits } from '../archive/archive-limits.js'
import type { ArchiveMember } from '../archive/archive-member.js'
import { readArchive } from '../archive/read-archive.js'
import type { BlobStore } from '../contracts/blob-store.js'
import type { FileToWrite } from '../contracts/files.js'
import { isSandboxError } from '../errors/sandbox-error.js'
import { archiveKey } from './archive-commit.js'
import type { ArchiveCommit } from './archive-commit.js'
import { snapshotCorrupt } from './snapshot-corrupt.js'
import { TreeDigest } from './tree-digest.js'

/** Up to this size a file is handed on in one piece. */
const WHOLE_FILE_BYTES = 1024 ** 2

export interface ReadSnapshotRequest {
  readonly blobs: BlobStore
  readonly commit: ArchiveCommit
  readonly limits: ArchiveLimits
  /** Permission bits that come back. */
  readonly modeMask: number
  /** Called after each entry, with what was read so far. */
  readonly onEntry?: (files: number, bytes: number) => void
  readonly signal: AbortSignal | undefined
}

/**
 * The entries of a snapshot, in the order of its tree. It ends well only when the archive's bytes, the tree that they make
 * and the commit object agree: whoever takes what comes must not use it before the end. Streams must be drained.
 *
 * Throws `snapshot_corrupt`, also for hostile members; `store_unavailable`, `aborted`.
 */
export async function* readSnapshot(request: ReadSnapshotRequest): AsyncGenerator<FileToWrite, void, undefined> {
  const { blobs, commit, limits, modeMask, onEntry, signal } = request
  const { id } = commit.ref
  const key = archiveKey(id)
  const options = signal === undefined ? {} : { signal }
  const digest = new TreeDigest()
  try {
    const bytes = new VerifiedBytes(await blobs.get(key, options), commit)
    const gzip = commit.archive.compress === 'gzip'
    const members = readArchive(bytes.chunks(), { ...options, limits, gzip, allowSetid: true, linkTargets: 'any' })
    for await (const member of members) {
      yield* readMember(member, digest, modeMask)
      onEntry?.(digest.files, digest.bytes)
    }
    bytes.checkEnd()
    checkTree(digest, commit)
  } catch (error) {
    throw asCorrupt(error, id, key)
  }
}

async function* readMember(
  member: ArchiveMember,
  digest: TreeDigest,
  modeMask: number,
): AsyncGenerator<FileToWrite, void, undefined> {
  const { path, type, mtimeNs, sizeBytes, linkTarget = '' } = member
  const mode = member.mode & modeMask
  if (type === 'directory') yield { type, path, mode, mtimeNs }
  else if (type === 'symlink') yield { type, path, linkTarget, mtimeNs }
  else if (type === 'hardlink') yield { type, path, linkTarget }
  else if (sizeBytes <= WHOLE_FILE_BYTES) {
    const content = await member.bytes()
    digest.add({ path, type, mode: member.mode, mtimeNs, sizeBytes, contentSha256: hash('sha256', content, 'hex') })
    return yield { type, path, mode, mtimeNs, sizeBytes, content }
  } else {
    const content = new HashedContent(member.content)
    yield { type, path, mode, mtimeNs, sizeBytes, content: content.stream }
    return digest.add({ path, type, mode: member.mode, mtimeNs, sizeBytes, contentSha256: content.sha256() })
  }
  const target = member.linkTarget === undefined ? {} : { linkTarget: member.linkTarget }
  digest.add({ path, type, mode: member.mode, mtimeNs, sizeBytes: 0, ...target })
}

class HashedContent {
  readonly stream: ReadableStream<Uint8Array>
  readonly #hash = createHash('sha256')
  #drained = false

  constructor(content: ReadableStream<Uint8Array>) {
    const reader = content.getReader()
    this.stream = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const { done, value } = await reader.read()
          if (done) {
            this.#drained = true
            return controller.close()
          }
          this.#hash.update(value)
          controller.enqueue(value)
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    )
  }

  sha256(): string {
    if (!this.#drained)
      throw new TypeError('The content of a file was not drained before the next entry was asked for.')
    return this.#hash.digest('hex')
  }
}

/** The archive's bytes, held against what the commit object says of them. */
class VerifiedBytes {
  readonly #source: ReadableStream<Uint8Array>
  readonly #commit: ArchiveCommit
  readonly #hash = createHash('sha256')
  #sizeBytes = 0

  constructor(source: ReadableStream<Uint8Array>, commit: ArchiveCommit) {
    this.#source = source
    this.#commit = commit
  }

  async *chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of this.#source) {
      this.#sizeBytes += chunk.length
      if (this.#sizeBytes > this.#commit.archive.sizeBytes) throw this.#corrupt('it is longer than what was saved')
      this.#hash.update(chunk)
      yield chunk
    }
  }

  checkEnd(): void {
    if (this.#sizeBytes !== this.#commit.archive.sizeBytes) throw this.#corrupt('it is shorter than what was saved')
    if (this.#hash.digest('hex') !== this.#commit.archive.sha256) throw this.#corrupt('its bytes are not those saved')
  }

  #corrupt(reason: string): Error {
    return snapshotCorrupt(this.#commit.ref.id, archiveKey(this.#commit.ref.id), reason)
  }
}

function checkTree(digest: TreeDigest, { ref }: ArchiveCommit): void {
  const { files, bytes } = digest
  if (digest.digest() === ref.treeDigest && files === ref.files && bytes === ref.sizeBytes) return
  throw snapshotCorrupt(ref.id, archiveKey(ref.id), 'its tree is not the one that was saved')
}

function asCorrupt(error: unknown, id: string, key: string): unknown {
  if (isSandboxError(error, 'archive_rejected') || isSandboxError(error, 'archive_limit')) {
    return snapshotCorrupt(id, key, error.message, error)
  }
  if (isSandboxError(error, 'blob_not_found')) return snapshotCorrupt(id, key, 'it is no longer there', error)
  if (isSandboxError(error, 'internal')) return snapshotCorrupt(id, key, error.details.reason, error)
  return error
}
