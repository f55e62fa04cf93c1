import type { ByteSource, ReadRange } from './files.js'

/**
 * Where snapshot bytes live: large immutable values under keys.
 *
 * `put` is all or nothing: until it returns nothing is visible under the key, and a put that failed, was aborted or whose
 * process died leaves nothing that `get` or `list` shows. Writing a key again replaces it as a whole; core never does so
 * with other bytes, because its names are random or derived from the content.
 *
 * Keys: components of `[A-Za-z0-9._=-]` (none `.` or `..`) joined by `/`, up to 512 bytes. Others are `invalid_argument`.
 * A store that does not answer throws `store_unavailable`; only confirmed absence is `blob_not_found`.
 */
export interface BlobStore extends AsyncDisposable {
  readonly features: BlobStoreFeatures
  /** `sizeBytes`, when given, must be what `data` gives; another length is `invalid_argument`. Throws `no_space`. */
  put(key: string, data: ByteSource, options?: PutBlobOptions): Promise<void>
  /** Throws `blob_not_found`; `unsupported_feature` for a range where `features.ranges` is false. */
  get(key: string, options?: GetBlobOptions): Promise<ReadableStream<Uint8Array>>
  head(key: string, options?: { readonly signal?: AbortSignal }): Promise<BlobStat | undefined>
  /** Idempotent. */
  delete(key: string, options?: { readonly signal?: AbortSignal }): Promise<void>
  /** In order of the keys' bytes. */
  list(prefix: string, options?: { readonly signal?: AbortSignal }): AsyncIterable<BlobSummary>
}

export interface BlobStoreFeatures {
  readonly ranges: boolean
  /** Largest blob in bytes, or null for no bound. */
  readonly maxBytes: number | null
}

export interface PutBlobOptions {
  readonly sizeBytes?: number
  readonly signal?: AbortSignal
}

export interface GetBlobOptions {
  readonly range?: ReadRange
  readonly signal?: AbortSignal
}

export interface BlobStat {
  readonly sizeBytes: number
  /** By the store's own clock. */
  readonly modifiedAtMs: number
}

export interface BlobSummary extends BlobStat {
  readonly key: string
}
