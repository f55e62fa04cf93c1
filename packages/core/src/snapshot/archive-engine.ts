import type { ZodType } from 'zod'
import type { ArchiveLimits } from '../archive/archive-limits.js'
import type { BlobStore } from '../contracts/blob-store.js'
import type { Clock } from '../contracts/clock.js'
import type { Sandbox } from '../contracts/sandbox.js'
import type {
  RestoreSnapshotRequest,
  SnapshotCallOptions,
  SnapshotEngine,
  SnapshotFeatures,
  SnapshotRef,
  SnapshotSpec,
  TakeSnapshotRequest,
} from '../contracts/snapshot.js'
import { assertNotAborted } from '../errors/assert-not-aborted.js'
import { SandboxError } from '../errors/sandbox-error.js'
import { failpoint } from '../failpoint.js'
import {
  ARCHIVE_FORMAT,
  ARCHIVE_PREFIX,
  archiveKey,
  commitKey,
  commitPrefix,
  encodeCommit,
  findCommit,
  getCommit,
} from './archive-commit.js'
import type { ArchiveCommit } from './archive-commit.js'
import { archiveSpecSchema } from './archive-spec.js'
import { readSnapshot } from './read-snapshot.js'
import { recoverRestore, restoreSnapshot } from './restore-snapshot.js'
import { snapshotCorrupt } from './snapshot-corrupt.js'
import { checkSlotHash, createSnapshotId } from './snapshot-id.js'
import { resolveSnapshotLimits } from './snapshot-limits.js'
import { sweepArchives } from './sweep-archives.js'
import { storeArchive } from './take-archive.js'

export interface ArchiveEngineOptions {
  /** Where snapshots lie. It stays the caller's: the engine does not dispose it. */
  readonly blobs: BlobStore
  /** Stands in every ref, so that a ref is never looked for in another store. */
  readonly storeName: string
  /** Default: the system's time. Ids and `createdAtMs` come from it. */
  readonly clock?: Pick<Clock, 'nowMs'>
  /** Bounds on one snapshot. Default: `DEFAULT_SNAPSHOT_LIMITS`. */
  readonly limits?: Partial<ArchiveLimits>
  /**
   * Whether set-user-id and set-group-id bits are saved and brought back. Default `drop`: owners are not part of a
   * snapshot, so that a restore by root would make a program that runs as root out of anybody's.
   */
  readonly setIdBits?: 'drop' | 'keep'
}

/** The engine of kind `archive`, with what only it has. */
export interface ArchiveEngine extends SnapshotEngine {
  readonly kind: 'archive'
  /**
   * Removes archives without a commit object that are older, by the store's clock: what takes that died left behind. The
   * age must be far above what the longest take needs between its archive and its commit object; a day is plenty. Returns
   * how many were removed. Throws `store_unavailable`, `aborted`.
   */
  sweepOrphans(olderThanMs: number, options?: { readonly signal?: AbortSignal }): Promise<number>
}

/**
 * Saves a workspace as one tar archive, streamed into a blob store and readable with `tar` and `jq`.
 *
 * A snapshot is a commit object (`snapshots/<slotHash>/<id>`) and an archive (`archives/<slotHash>/<id>`). The commit object
 * is written last and removed first, so that whatever dies leaves either a whole snapshot or none. Memory does not grow
 * with contents; it grows with the number of entries, by some 500 bytes each.
 *
 * Saved are files, directories, symbolic and hard links with their modes and modification times, not owners, extended
 * attributes or holes. Throws `invalid_argument` for limits.
 */
export function createArchiveEngine(options: ArchiveEngineOptions): ArchiveEngine {
  return new TarArchiveEngine(options)
}

class TarArchiveEngine implements ArchiveEngine {
  readonly kind = 'archive'
  readonly specSchema: ZodType<SnapshotSpec> = archiveSpecSchema
  readonly features: SnapshotFeatures = Object.freeze({ persistent: true, incremental: false })
  readonly #blobs: BlobStore
  readonly #storeName: string
  readonly #clock: Pick<Clock, 'nowMs'>
  readonly #limits: ArchiveLimits
  readonly #modeMask: number
  #lastIdMs = 0

  constructor({ blobs, storeName, clock, limits, setIdBits }: ArchiveEngineOptions) {
    this.#blobs = blobs
    this.#storeName = storeName
    this.#clock = clock ?? { nowMs: () => Date.now() }
    this.#limits = resolveSnapshotLimits(limits)
    this.#modeMask = setIdBits === 'keep' ? 0o7777 : 0o1777
  }

  async take(sandbox: Sandbox, request: TakeSnapshotRequest): Promise<SnapshotRef> {
    assertNotAborted(request.signal, 'taking a snapshot')
    const createdAtMs = this.#clock.nowMs()
    const id = this.#createId(createdAtMs, request.slotHash)
    const { archive, ...content } = await storeArchive(sandbox, {
      blobs: this.#blobs,
      id,
      limits: this.#limits,
      modeMask: this.#modeMask,
      call: request,
    })
    failpoint('snapshot.take.afterArchive')
    const parent = request.parent?.id ?? null
    const ref: SnapshotRef = { id, kind: 'archive', store: this.#storeName, createdAtMs, ...content, parent }
    try {
      assertNotAborted(request.signal, 'taking a snapshot')
      await this.#putCommit({ format: ARCHIVE_FORMAT, ref, archive }, request.signal)
    } catch (error) {
      await this.#discard(ref)
      throw error
    }
    failpoint('snapshot.take.afterCommit')
    return ref
  }

  async restore(sandbox: Sandbox, ref: SnapshotRef, request: RestoreSnapshotRequest): Promise<void> {
    const { signal, keep, onProgress } = request
    assertNotAborted(signal, 'restoring a snapshot')
    const commit = await this.#commitOf(ref, signal)
    const onEntry = (files: number, bytes: number): void => onProgress?.({ operation: 'restore', files, bytes })
    const entries = readSnapshot({ ...this.#reading(commit), onEntry, signal })
    try {
      await restoreSnapshot(sandbox, { snapshot: ref.id, entries, keep, nowMs: this.#clock.nowMs(), signal })
    } finally {
      await entries.return()
    }
  }

  recover(sandbox: Sandbox): Promise<'nothing' | 'finished' | 'undone'> {
    return recoverRestore(sandbox)
  }

  async probe(ref: SnapshotRef): Promise<'present' | 'absent'> {
    this.#check(ref)
    return (await this.#blobs.head(commitKey(ref.id))) === undefined ? 'absent' : 'present'
  }

  async *list(slotHash: string): AsyncGenerator<SnapshotRef, void, undefined> {
    const prefix = commitPrefix(checkSlotHash(slotHash))
    for await (const { key } of this.#blobs.list(prefix)) {
      const commit = await findCommit(this.#blobs, key.slice(prefix.length))
      // Undefined: deleted since it was listed.
      if (commit !== undefined) yield commit.ref
    }
  }

  async verify(ref: SnapshotRef, { onProgress, signal }: SnapshotCallOptions = {}): Promise<void> {
    assertNotAborted(signal, 'verifying a snapshot')
    const commit = await this.#commitOf(ref, signal)
    const onEntry = (files: number, bytes: number): void => onProgress?.({ operation: 'verify', files, bytes })
    for await (const entry of readSnapshot({ ...this.#reading(commit), onEntry, signal })) {
      if (entry.type === 'file' && !(entry.content instanceof Uint8Array)) for await (const _ of entry.content);
    }
  }

  async delete(ref: SnapshotRef): Promise<void> {
    this.#check(ref)
    await this.#blobs.delete(commitKey(ref.id))
    failpoint('snapshot.delete.afterCommit')
    await this.#blobs.delete(archiveKey(ref.id))
  }

  async sweepOrphans(olderThanMs: number, options: { readonly signal?: AbortSignal } = {}): Promise<number> {
    return sweepArchives(this.#blobs, { prefix: ARCHIVE_PREFIX, olderThanMs, nowMs: this.#clock.nowMs(), ...options })
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  /** Ids of one engine grow even within a millisecond. */
  #createId(nowMs: number, slotHash: string): string {
    this.#lastIdMs = Math.max(nowMs, this.#lastIdMs + 1)
    return createSnapshotId(this.#lastIdMs, slotHash)
  }

  async #putCommit(commit: ArchiveCommit, signal: AbortSignal | undefined): Promise<void> {
    const bytes = encodeCommit(commit)
    await this.#blobs.put(commitKey(commit.ref.id), bytes, {
      sizeBytes: bytes.length,
      ...(signal === undefined ? {} : { signal }),
    })
  }

  /**
   * What went wrong before is what the caller must hear. A put of the commit object whose reply was lost may have been done:
   * the archive goes only when the commit object surely has, or there would be a snapshot without its bytes.
   */
  async #discard(ref: SnapshotRef): Promise<void> {
    await this.delete(ref).catch(() => undefined)
  }

  async #commitOf(ref: SnapshotRef, signal: AbortSignal | undefined): Promise<ArchiveCommit> {
    this.#check(ref)
    const commit = await getCommit(this.#blobs, ref.id, signal)
    if (commit.ref.treeDigest === ref.treeDigest) return commit
    throw snapshotCorrupt(ref.id, commitKey(ref.id), 'it is not about the tree that was asked for')
  }

  #reading(commit: ArchiveCommit): Omit<Parameters<typeof readSnapshot>[0], 'signal'> {
    return { blobs: this.#blobs, commit, limits: this.#limits, modeMask: this.#modeMask }
  }

  #check({ kind, store }: SnapshotRef): void {
    if (kind === this.kind && store === this.#storeName) return
    const reason = `it is of kind ${kind} in store ${store}; this engine has kind ${this.kind} in store ${this.#storeName}`
    throw new SandboxError('invalid_argument', `The snapshot cannot be used here: ${reason}.`, {
      argument: 'ref',
      reason,
    })
  }
}
