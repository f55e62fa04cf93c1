import { createHash } from 'node:crypto'
import type { ArchiveLimits } from '../archive/archive-limits.js'
import { writeArchive } from '../archive/write-archive.js'
import type { BlobStore } from '../contracts/blob-store.js'
import type { Sandbox } from '../contracts/sandbox.js'
import type { TakeSnapshotRequest } from '../contracts/snapshot.js'
import { isSandboxError, SandboxError } from '../errors/sandbox-error.js'
import type { SandboxErrorCode } from '../errors/error-details.js'
import { failpoint } from '../failpoint.js'
import { archiveKey } from './archive-commit.js'
import type { ArchiveCommit } from './archive-commit.js'
import { archiveEntries } from './archive-entries.js'
import { parseArchiveSpec } from './archive-spec.js'
import type { ArchiveSnapshotSpec } from './archive-spec.js'
import { compileExclude, overLimit, scanWorkspace } from './scan-workspace.js'
import type { WorkspaceScan } from './scan-workspace.js'
import { TreeDigest } from './tree-digest.js'
import { UnstableFile } from './unstable-file.js'

const TAKE_ATTEMPTS = 3

export interface StoreArchiveRequest {
  readonly blobs: BlobStore
  readonly id: string
  readonly limits: ArchiveLimits
  readonly modeMask: number
  readonly call: TakeSnapshotRequest
}

export interface StoredArchive {
  readonly archive: ArchiveCommit['archive']
  readonly treeDigest: string
  readonly sizeBytes: number
  readonly files: number
}

/**
 * Streams the workspace into the blob store. When a large file changed while it was read, everything begins again, three
 * times at most. Throws `snapshot_failed`, and leaves nothing then.
 */
export async function storeArchive(sandbox: Sandbox, request: StoreArchiveRequest): Promise<StoredArchive> {
  const spec = parseArchiveSpec(request.call.spec)
  const { signal, onSkipped } = request.call
  const exclude = compileExclude(sandbox, request.call.exclude, spec.exclude ?? [])
  for (let attempt = 1; ; attempt++) {
    try {
      const scan = await scanWorkspace(sandbox, { exclude, limits: request.limits, signal })
      failpoint('snapshot.take.scanned')
      const stored = await uploadArchive(sandbox, { ...request, spec, scan })
      for (const { path, reason } of scan.skipped) onSkipped?.(path, reason)
      return stored
    } catch (error) {
      if (!(error instanceof UnstableFile)) throw asTakeFailure(error)
      if (attempt === TAKE_ATTEMPTS) throw unstable(error)
    }
  }
}

interface UploadRequest extends StoreArchiveRequest {
  readonly spec: ArchiveSnapshotSpec
  readonly scan: WorkspaceScan
}

async function uploadArchive(sandbox: Sandbox, request: UploadRequest): Promise<StoredArchive> {
  const { blobs, id, spec, scan, modeMask, call } = request
  const compress = spec.compress ?? 'gzip'
  const digest = new TreeDigest()
  const onEntry = (): void => call.onProgress?.({ operation: 'take', files: digest.files, bytes: digest.bytes })
  const { files, paths } = sandbox
  const entries = archiveEntries({
    files,
    workspace: paths.workspace,
    scan,
    modeMask,
    digest,
    onEntry,
    signal: call.signal,
  })
  const upload = new Upload(request, remembering(entries))
  const options = call.signal === undefined ? {} : { signal: call.signal }
  try {
    await blobs.put(archiveKey(id), upload.chunks, options)
  } catch (error) {
    // A store may wrap what the source threw; the source knows better.
    throw upload.failure ?? error
  } finally {
    await upload.chunks.return()
    await entries.return()
  }
  const { files: fileCount, bytes: sizeBytes } = digest
  const archive = { sizeBytes: upload.sizeBytes, sha256: upload.sha256(), compress }
  return { archive, treeDigest: digest.digest(), sizeBytes, files: fileCount }

  async function* remembering<T>(source: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
    try {
      yield* source
    } catch (error) {
      upload.failure = error
      throw error
    }
  }
}

/** The archive's bytes on their way to the store, counted and hashed. */
class Upload {
  readonly chunks: AsyncGenerator<Uint8Array, void, undefined>
  sizeBytes = 0
  failure: unknown
  readonly #hash = createHash('sha256')

  constructor({ spec, limits, call }: UploadRequest, entries: Parameters<typeof writeArchive>[0]) {
    const options = { gzip: spec.compress !== 'none', ...(call.signal === undefined ? {} : { signal: call.signal }) }
    this.chunks = this.#measured(writeArchive(entries, options), limits)
  }

  sha256(): string {
    return this.#hash.digest('hex')
  }

  async *#measured(
    archive: ReadableStream<Uint8Array>,
    limits: ArchiveLimits,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of archive) {
      failpoint('snapshot.take.chunk')
      this.sizeBytes += chunk.length
      this.#hash.update(chunk)
      if (this.sizeBytes > limits.maxInputBytes) throw (this.failure = overLimit('maxInputBytes', limits))
      yield chunk
    }
  }
}

function unstable({ path }: UnstableFile): SandboxError<'snapshot_failed'> {
  const reason = `files changed each of ${TAKE_ATTEMPTS} times that they were read; stop what writes to them, or exclude them`
  return new SandboxError('snapshot_failed', `No snapshot was taken: ${reason} (${JSON.stringify(path)}).`, {
    reason,
    paths: [path],
  })
}

/** Codes that say what is wrong with one entry. Everything else (store, sandbox, caller) is passed on as it is. */
const ENTRY_FAILURES: readonly SandboxErrorCode[] = [
  'archive_rejected',
  'archive_limit',
  'not_found',
  'not_a_directory',
  'is_a_directory',
  'path_denied',
  'path_escape',
]

function asTakeFailure(error: unknown): unknown {
  if (!isSandboxError(error) || !ENTRY_FAILURES.includes(error.code)) return error
  const details = error.details as { readonly path?: string; readonly member?: string }
  const path = details.path ?? details.member
  return new SandboxError(
    'snapshot_failed',
    `No snapshot was taken: ${error.message}`,
    { reason: error.message, paths: path === undefined ? [] : [path] },
    { cause: error, retryable: error.retryable },
  )
}
