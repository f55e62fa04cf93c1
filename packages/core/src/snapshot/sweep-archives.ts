import type { BlobStore } from '../contracts/blob-store.js'
import { SandboxError } from '../errors/sandbox-error.js'
import { commitKey } from './archive-commit.js'
import { createStamp } from './snapshot-id.js'

export interface SweepRequest {
  /** Where archives lie. */
  readonly prefix: string
  readonly olderThanMs: number
  /** Names the probe; ages are judged by the store's clock. */
  readonly nowMs: number
  readonly signal?: AbortSignal
}

/** Removes archives without a commit object, and returns how many. */
export async function sweepArchives(blobs: BlobStore, request: SweepRequest): Promise<number> {
  const { prefix, olderThanMs, signal } = request
  if (!(Number.isFinite(olderThanMs) && olderThanMs >= 0)) {
    const reason = 'it must be a number of milliseconds from 0'
    throw new SandboxError('invalid_argument', `olderThanMs cannot be used: ${reason}.`, {
      argument: 'olderThanMs',
      reason,
    })
  }
  const options = signal === undefined ? {} : { signal }
  const latestMs = (await storeNowMs(blobs, request)) - olderThanMs
  let removed = 0
  for await (const { key, modifiedAtMs } of blobs.list(prefix, options)) {
    const id = key.slice(key.lastIndexOf('/') + 1)
    if (modifiedAtMs > latestMs || (await hasCommit(blobs, id, options))) continue
    await blobs.delete(key, options)
    removed++
  }
  return removed
}

/** A name that is none of ours is not ours to remove. */
async function hasCommit(blobs: BlobStore, id: string, options: { readonly signal?: AbortSignal }): Promise<boolean> {
  let key: string
  try {
    key = commitKey(id)
  } catch {
    return true
  }
  return (await blobs.head(key, options)) !== undefined
}

/** What the store's clock says: only a blob written now can tell. */
async function storeNowMs(blobs: BlobStore, { nowMs, signal }: SweepRequest): Promise<number> {
  const options = signal === undefined ? {} : { signal }
  const key = `clock/${createStamp(nowMs)}`
  await blobs.put(key, new Uint8Array(0), options)
  try {
    return (await blobs.head(key, options))?.modifiedAtMs ?? nowMs
  } finally {
    await blobs.delete(key)
  }
}
