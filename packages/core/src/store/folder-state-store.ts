import type { JsonValue } from '../errors/error-details.js'
import type { PutStateOptions, StateEntry, StatePage, StateStore } from '../contracts/state-store.js'
import { checkKey, checkVersion, encodeValue } from './check-argument.js'
import { FolderRegister } from './register/folder-register.js'
import type { RegisterState } from './register/folder-register.js'
import { parseJson } from './register/register-file.js'
import { pageOfKeys, parseListOptions } from './state-page.js'
import { checkCondition } from './state-condition.js'

export interface FolderStateStoreOptions {
  /** Made with mode 0700 when it is missing. One folder, one store: nothing else may lie in it. */
  readonly folder: string
  /**
   * Default true: a write that has returned survives a power cut. Without, it survives the death of the process, not
   * surely that of the machine.
   */
  readonly fsync?: boolean
}

/**
 * State in files, for all processes of one machine; on a local file system (what a network file system makes of link(2)
 * and of its caches is not known here).
 *
 * Each write makes a new file of mode 0600 under a number that is never used again, so that nothing can be locked, left
 * locked or torn; see `FolderRegister`. A deleted key leaves a folder of about 8 KiB behind, which keeps late writers out.
 * A value that `get` shows before its `put` has returned may be gone after a power cut.
 *
 * Beside what the contract says: a full disk is `no_space`, also for a deletion, and nothing is written in part. `put` and `delete` without
 * `ifVersion` replace a value that cannot be read.
 */
export function createFolderStateStore(options: FolderStateStoreOptions): StateStore {
  const { folder, fsync = true } = options
  return new FolderStateStore(new FolderRegister({ folder, fsync, store: 'folder state store' }))
}

class FolderStateStore implements StateStore {
  readonly #register: FolderRegister

  constructor(register: FolderRegister) {
    this.#register = register
  }

  async get(key: string, options: { readonly signal?: AbortSignal } = {}): Promise<StateEntry | undefined> {
    checkKey(key)
    const state = await this.#register.read(key, options.signal)
    if (state === undefined) return undefined
    if ('corrupt' in state) throw state.corrupt
    if (state.text === null) return undefined
    return { value: parseJson(state.text) as JsonValue, version: `${state.number}-${state.token}` }
  }

  async put(key: string, value: JsonValue, options: PutStateOptions = {}): Promise<{ readonly version: string }> {
    checkKey(key)
    checkVersion(options.ifVersion)
    const text = encodeValue(value)
    const transition = (state: RegisterState | undefined): string => {
      if (options.ifVersion !== undefined) checkCondition(key, options.ifVersion, versionOf(state))
      return text
    }
    const written = await this.#register.update(key, transition, options.signal)
    return { version: versionOf(written) ?? '' }
  }

  async delete(key: string, options: PutStateOptions = {}): Promise<void> {
    checkKey(key)
    checkVersion(options.ifVersion)
    const transition = (state: RegisterState | undefined): null | undefined => {
      if (options.ifVersion !== undefined) checkCondition(key, options.ifVersion, versionOf(state))
      return state === undefined || ('text' in state && state.text === null) ? undefined : null
    }
    await this.#register.update(key, transition, options.signal)
  }

  async list(
    prefix: string,
    options: { readonly limit?: number; readonly cursor?: string; readonly signal?: AbortSignal } = {},
  ): Promise<StatePage> {
    const query = parseListOptions(prefix, options)
    const keys = await this.#register.keys(options.signal)
    return await pageOfKeys(keys, query, async (key) => {
      const state = await this.#register.read(key, options.signal)
      return state !== undefined && ('corrupt' in state || state.text !== null)
    })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#register.close()
  }
}

/** null: nothing is there, or no longer. Throws `state_corrupt`. */
function versionOf(state: RegisterState | undefined): string | null {
  if (state === undefined) return null
  if ('corrupt' in state) throw state.corrupt
  return state.text === null ? null : `${state.number}-${state.token}`
}
