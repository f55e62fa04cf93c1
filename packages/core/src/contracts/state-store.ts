import type { JsonValue } from '../errors/error-details.js'

/**
 * Where records live: small JSON values under keys, each with a version.
 *
 * A `put` or `delete` that has returned survives the death of the process and, in durable stores, of the machine.
 * Operations on one key are linearizable across all processes that use the store: of two writers with the same
 * `ifVersion` exactly one succeeds, and a `get` after it sees what it wrote. Nothing is promised across keys.
 *
 * Absence is a statement: `get` returns undefined only when the store confirmed it. A store that does not answer throws
 * `store_unavailable`; a value that cannot be read throws `state_corrupt` and stays as it is.
 *
 * Keys are any non-empty Unicode strings up to 1 024 UTF-8 bytes without lone surrogates or NUL; values up to 1 MiB as
 * JSON. What is beyond is `invalid_argument`.
 */
export interface StateStore extends AsyncDisposable {
  get(key: string, options?: StoreCallOptions): Promise<StateEntry | undefined>
  /**
   * Without `ifVersion` the value is written whatever is there; `null` = nothing may be there. Throws `state_conflict`.
   */
  put(key: string, value: JsonValue, options?: PutStateOptions): Promise<{ readonly version: string }>
  /** Idempotent: deleting nothing succeeds, unless `ifVersion` names a version, which is then `state_conflict`. */
  delete(key: string, options?: PutStateOptions): Promise<void>
  /** Keys in order of their UTF-8 bytes. A page at a time: pass `cursor` back until there is none. */
  list(prefix: string, options?: ListStateOptions): Promise<StatePage>
}

export interface StoreCallOptions {
  readonly signal?: AbortSignal
}

export interface StateEntry {
  readonly value: JsonValue
  /** Opaque; differs after every write, also when the key was deleted and written again. */
  readonly version: string
}

export interface PutStateOptions extends StoreCallOptions {
  readonly ifVersion?: string | null
}

export interface ListStateOptions extends StoreCallOptions {
  /** 1–1 000, default 100. */
  readonly limit?: number
  readonly cursor?: string
}

export interface StatePage {
  readonly keys: readonly string[]
  readonly cursor?: string
}
