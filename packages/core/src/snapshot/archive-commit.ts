import { z } from 'zod'
import type { BlobStore } from '../contracts/blob-store.js'
import type { SnapshotRef } from '../contracts/snapshot.js'
import { isSandboxError, SandboxError } from '../errors/sandbox-error.js'
import { readWhole } from './read-whole.js'
import { slotHashOf } from './snapshot-id.js'
import { snapshotCorrupt } from './snapshot-corrupt.js'

/** The version of the commit object and of what the archive means. */
export const ARCHIVE_FORMAT = 1
export const ARCHIVE_PREFIX = 'archives/'
const MAX_COMMIT_BYTES = 64 * 1024

/**
 * The small object that makes a snapshot exist: written last, removed first. It lies under `snapshots/<slotHash>/<id>`, the
 * archive under `archives/<slotHash>/<id>`. `docs/snapshot-archive-format.md` describes both for readers without Cofferdam.
 */
export interface ArchiveCommit {
  readonly format: typeof ARCHIVE_FORMAT
  readonly ref: SnapshotRef
  readonly archive: {
    readonly sizeBytes: number
    /** Lower-case hex sha256 of the archive's bytes as stored. */
    readonly sha256: string
    readonly compress: 'gzip' | 'none'
  }
}

const count = z.int().nonnegative()
const sha256 = z.string().regex(/^[0-9a-f]{64}$/)
const commitSchema = z.strictObject({
  format: z.literal(ARCHIVE_FORMAT),
  ref: z.strictObject({
    id: z.string(),
    kind: z.literal('archive'),
    store: z.string(),
    createdAtMs: count,
    treeDigest: sha256,
    sizeBytes: count,
    files: count,
    parent: z.string().nullable(),
  }),
  archive: z.strictObject({ sizeBytes: count, sha256, compress: z.enum(['gzip', 'none']) }),
})

export function commitKey(id: string): string {
  return `${commitPrefix(slotHashOf(id))}${id}`
}

export function commitPrefix(slotHash: string): string {
  return `snapshots/${slotHash}/`
}

export function archiveKey(id: string): string {
  return `${ARCHIVE_PREFIX}${slotHashOf(id)}/${id}`
}

export function encodeCommit(commit: ArchiveCommit): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify(commit, null, 2)}\n`)
}

/** Undefined when there is none. Throws `snapshot_corrupt`, `state_version_unsupported`, `store_unavailable`. */
export async function findCommit(
  blobs: BlobStore,
  id: string,
  signal?: AbortSignal,
): Promise<ArchiveCommit | undefined> {
  const key = commitKey(id)
  let bytes: Uint8Array | undefined
  try {
    bytes = await readWhole(await blobs.get(key, signal === undefined ? {} : { signal }), MAX_COMMIT_BYTES)
  } catch (error) {
    if (isSandboxError(error, 'blob_not_found')) return undefined
    throw error
  }
  if (bytes === undefined) throw snapshotCorrupt(id, key, 'it is far larger than a commit object')
  return parseCommit(id, key, bytes)
}

/** As {@link findCommit}, but absence is `snapshot_not_found`. */
export async function getCommit(blobs: BlobStore, id: string, signal?: AbortSignal): Promise<ArchiveCommit> {
  const commit = await findCommit(blobs, id, signal)
  if (commit !== undefined) return commit
  throw new SandboxError('snapshot_not_found', `There is no snapshot ${id}; it was deleted, or never completed.`, {
    snapshot: id,
  })
}

function parseCommit(id: string, key: string, bytes: Uint8Array): ArchiveCommit {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    throw snapshotCorrupt(id, key, 'it is not JSON', error)
  }
  const version = formatOf(value)
  if (version !== undefined && version !== ARCHIVE_FORMAT) {
    throw new SandboxError(
      'state_version_unsupported',
      `Snapshot ${id} has format ${version}, and this version of Cofferdam reads ${ARCHIVE_FORMAT}.`,
      { key, version, supported: [ARCHIVE_FORMAT] },
    )
  }
  const parsed = commitSchema.safeParse(value)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw snapshotCorrupt(id, key, `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'it is not a commit object'}`)
  }
  if (parsed.data.ref.id !== id) throw snapshotCorrupt(id, key, 'it is about another snapshot')
  return parsed.data
}

function formatOf(value: unknown): number | undefined {
  if (typeof value !== 'object' || value === null || !('format' in value)) return undefined
  return Number.isSafeInteger(value.format) ? (value.format as number) : undefined
}
