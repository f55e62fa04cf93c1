import type { JsonValue } from '../errors/error-details.js'
import type { ListStateOptions, PutStateOptions, StateEntry, StatePage, StateStore } from '../contracts/state-store.js'
import { checkKey, checkVersion, encodeValue, throwIfAborted } from './check-argument.js'
import { unavailable } from './map-file-error.js'
import { checkCondition } from './state-condition.js'
import { pageOfKeys, parseListOptions } from './state-page.js'

/** State for as long as the object lives: for tests and for hosts that need nothing to outlive them. Copies in and out. */
export function createMemoryStateStore(): StateStore {
  return new MemoryStateStore()
}

class MemoryStateStore implements StateStore {
  readonly #entries = new Map<string, { readonly text: string; readonly version: string }>()
  #writes = 0
  #closed = false

  async get(key: string, options: { readonly signal?: AbortSignal } = {}): Promise<StateEntry | undefined> {
    checkKey(key)
    this.#check(options.signal)
    const entry = this.#entries.get(key)
    return entry === undefined ? undefined : { value: JSON.parse(entry.text) as JsonValue, version: entry.version }
  }

  async put(key: string, value: JsonValue, options: PutStateOptions = {}): Promise<{ readonly version: string }> {
    checkKey(key)
    checkVersion(options.ifVersion)
    const text = encodeValue(value)
    this.#check(options.signal)
    this.#checkVersion(key, options)
    const version = String(++this.#writes)
    this.#entries.set(key, { text, version })
    return { version }
  }

  async delete(key: string, options: PutStateOptions = {}): Promise<void> {
    checkKey(key)
    checkVersion(options.ifVersion)
    this.#check(options.signal)
    this.#checkVersion(key, options)
    this.#entries.delete(key)
  }

  async list(prefix: string, options: ListStateOptions = {}): Promise<StatePage> {
    const query = parseListOptions(prefix, options)
    this.#check(options.signal)
    return await pageOfKeys([...this.#entries.keys()], query, async (key) => this.#entries.has(key))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
  }

  #check(signal: AbortSignal | undefined): void {
    throwIfAborted(signal)
    if (this.#closed) throw unavailable('memory state store', 'it was closed', { retryable: false })
  }

  #checkVersion(key: string, { ifVersion }: PutStateOptions): void {
    if (ifVersion !== undefined) checkCondition(key, ifVersion, this.#entries.get(key)?.version ?? null)
  }
}
