import { createHash } from 'node:crypto'
import type { Stats } from 'node:fs'
import { link, lstat, mkdir, readdir, rename, rm, rmdir, unlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { SandboxError } from '../../errors/sandbox-error.js'
import { failpoint } from '../../failpoint.js'
import { throwIfAborted } from '../check-argument.js'
import { readRegular, syncFolder, writeNew } from '../durable-file.js'
import { errnoOf, mapFileError, unavailable } from '../map-file-error.js'
import { SerialByKey } from '../serial-by-key.js'
import { openStoreFolder } from '../store-folder.js'
import { randomToken, sweepTemporaries, temporaryPath } from '../temporaries.js'
import { BoundedCache } from './bounded-cache.js'
import * as epochs from './epoch.js'
import type { Place } from './epoch.js'
import { folderChange } from './folder-change.js'
import { MAX_ENTRY_BYTES, decodeEntry, encodeEntry } from './register-file.js'
import type { RegisterEntry } from './register-file.js'

const CACHED_KEYS = 10_000
/** Longer entries are read again instead of being kept. */
const CACHED_TEXT = 4096
const KEY_FOLDER = /^[0-9a-f]{64}$/

export interface FolderRegisterOptions {
  readonly folder: string
  readonly fsync: boolean
  /** Name for error messages. */
  readonly store: string
}

/** The newest entry of a key, or why it cannot be read. */
export type RegisterState = RegisterEntry | { readonly number: number; readonly corrupt: SandboxError<'state_corrupt'> }

/** What to write, null for a deletion; undefined to write nothing. */
type Transition = (current: RegisterState | undefined) => string | null | undefined

interface Found {
  readonly place: Place
  readonly state: RegisterState
}

/** What was last seen of a key: a place to begin at, and the entry there, if that can be relied on. */
interface Known {
  readonly place: Place
  readonly entry?: RegisterEntry | undefined
  /** Of the entry's file when it was read. */
  readonly stat?: Stats | undefined
}

/**
 * Compare-and-set registers in a folder, for any number of processes of one machine, without locks.
 *
 *     keys/<sha-256 of the key>/key                   the key itself
 *     keys/<sha-256 of the key>/<epoch>/<number>      one file per version, never changed
 *     tmp/                                            what is being made, named after its maker
 *
 * A version is written elsewhere, made durable and then linked to its number: link(2) fails when the number is taken, so
 * of several writers one wins, and the file is whole from the moment it has its name.
 *
 * Old versions must go, but no number may ever be free again: a writer that was stopped between reading version 5 and
 * linking version 6 would succeed after 6, 7 and 8 had come and 6 was removed. So numbers are only removed together with
 * the folder they are in, an epoch, and the name of an epoch is random and used once: after that the late link finds no
 * folder. The folder of the next epoch is made before the last version of an epoch, which names it, so its name is decided
 * by the same link and nobody ever makes it again. Likewise a key's own folder comes into being by one rename of a folder
 * that already holds version 1, which fails when there is one, and stays for good; a deletion is a version like any other.
 *
 * What is current: version n, when the place of n + 1 is seen empty and n is seen after that. An epoch that still has n
 * had all its versions at the earlier moment, and epochs are removed oldest first.
 *
 * Links are not followed: version files are opened with O_NOFOLLOW; the folders above are looked at when a process first
 * meets a key.
 */
export class FolderRegister {
  readonly #folder: string
  readonly #keys: string
  readonly #temporaries: string
  readonly #fsync: boolean
  readonly #store: string
  readonly #serial = new SerialByKey()
  readonly #known = new BoundedCache<Known>(CACHED_KEYS)
  readonly #keyNames = new BoundedCache<string>(CACHED_KEYS)
  #opened: Promise<void> | undefined
  #closed = false

  constructor({ folder, fsync, store }: FolderRegisterOptions) {
    if (typeof folder !== 'string' || folder === '') throw new TypeError(`${store} needs a folder`)
    this.#folder = resolve(folder)
    this.#keys = join(this.#folder, 'keys')
    this.#temporaries = join(this.#folder, 'tmp')
    this.#fsync = fsync
    this.#store = store
  }

  /** The newest version; undefined when the key was never written. */
  read(key: string, signal?: AbortSignal): Promise<RegisterState | undefined> {
    return this.#guarded(signal, async () => (await this.#find(key, hashOf(key)))?.state)
  }

  /**
   * Writes what `transition` makes of the newest version, and gives the entry written, or what is there when it makes
   * nothing. It is called again when another writer was faster. Calls for one key take effect in order.
   */
  update(key: string, transition: Transition, signal?: AbortSignal): Promise<RegisterState | undefined> {
    const hash = hashOf(key)
    return this.#guarded(signal, () =>
      this.#serial.run(hash, async () => {
        for (;;) {
          throwIfAborted(signal)
          const found = await this.#find(key, hash)
          const text = transition(found?.state)
          if (text === undefined) return found?.state
          throwIfAborted(signal)
          const entry = found === undefined ? await this.#create(key, hash, text) : await this.#append(key, found, text)
          if (entry !== undefined) return entry
        }
      }),
    )
  }

  /** Every key that was ever written, deleted ones too, in no order. */
  keys(signal?: AbortSignal): Promise<string[]> {
    return this.#guarded(signal, async () => {
      const hashes = (await readdir(this.#keys)).filter((name) => KEY_FOLDER.test(name))
      return await mapLimited(hashes, async (hash) => {
        throwIfAborted(signal)
        return this.#keyNames.get(hash) ?? (await this.#readKey(hash))
      })
    })
  }

  /**
   * Resolves when a version after `number` may be there, or the time is over; early rather than late. Rejects with
   * `aborted`.
   */
  async changed(key: string, number: number, options: { timeoutMs: number; signal?: AbortSignal }): Promise<void> {
    throwIfAborted(options.signal)
    const hash = hashOf(key)
    const place = this.#known.get(hash)?.place
    if (place === undefined || place.number > number) return
    const folder = join(this.#keys, hash, place.next ?? place.epoch)
    // After the watch has begun: what came between the last look and the watch.
    const look = async (): Promise<boolean> => (await this.#find(key, hash))?.state.number !== number
    await folderChange(folder, { ...options, look })
  }

  /** Waits for what is being written. Later calls throw `store_unavailable`. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#serial.idle()
  }

  async #guarded<T>(signal: AbortSignal | undefined, task: () => Promise<T>): Promise<T> {
    throwIfAborted(signal)
    if (this.#closed) throw unavailable(this.#store, 'it was closed', { retryable: false })
    try {
      this.#opened ??= this.#open()
      await this.#opened
    } catch (error) {
      this.#opened = undefined
      throw mapFileError(error, this.#store, this.#folder)
    }
    throwIfAborted(signal)
    try {
      return await task()
    } catch (error) {
      throw mapFileError(error, this.#store, this.#folder)
    }
  }

  async #open(): Promise<void> {
    await openStoreFolder(this.#folder, [this.#keys, this.#temporaries], this.#fsync)
    await sweepTemporaries(this.#temporaries)
  }

  async #find(key: string, hash: string): Promise<Found | undefined> {
    const known = this.#known.get(hash)
    let place = known?.place
    for (;;) {
      place ??= await this.#locate(key, hash)
      if (place === undefined) return undefined
      if (place.next === undefined) {
        const state = await this.#readState(key, hash, place)
        place = state === undefined ? undefined : await this.#placeRead(key, place, state)
        if (place === undefined) continue
      }
      const after = epochs.successorOf(place)
      const later = await this.#readState(key, hash, after)
      if (later !== undefined) {
        place = 'corrupt' in later ? after : epochs.placeOf(after.epoch, later)
        continue
      }
      if (known?.entry !== undefined && place === known.place && (await this.#isUnchanged(hash, known))) {
        return { place, state: known.entry }
      }
      const state = await this.#readState(key, hash, place)
      if (state !== undefined) return { place, state }
      place = undefined
    }
  }

  /** Seen to be there, and the file that was read. */
  async #isUnchanged(hash: string, { place, stat }: Known): Promise<boolean> {
    if (stat === undefined) return false
    const now = await orUndefined('ENOENT', () => lstat(epochs.pathIn(join(this.#keys, hash), place)))
    return now?.ino === stat.ino && now.size === stat.size && now.ctimeMs === stat.ctimeMs && now.isFile()
  }

  /** The last version of an epoch names the following one; when it cannot be read, what follows cannot be found. */
  async #placeRead(key: string, place: Place, state: RegisterState): Promise<Place> {
    if (!('corrupt' in state)) return epochs.placeOf(place.epoch, state)
    const names = epochs.epochsAmong(await readdir(join(this.#keys, hashOf(key))))
    const following = names.filter((name) => epochs.orderOf(name) > epochs.orderOf(place.epoch))
    if (following.length !== 1 || following[0] === undefined) throw state.corrupt
    return { ...place, next: following[0] }
  }

  /** Looks for a version near the newest; undefined when the key was never written. */
  async #locate(key: string, hash: string): Promise<Place | undefined> {
    const keyFolder = join(this.#keys, hash)
    for (let attempt = 0; attempt < 5; attempt++) {
      const stat = await orUndefined('ENOENT', () => lstat(keyFolder))
      if (stat === undefined) {
        await lstat(this.#keys)
        return undefined
      }
      if (!stat.isDirectory()) throw this.#corrupt(key, `${keyFolder} is no folder`)
      for (const epoch of epochs.epochsAmong(await readdir(keyFolder))) {
        const number = await this.#highestIn(key, join(keyFolder, epoch))
        if (number !== undefined) return epochs.unreadPlace(epoch, number)
      }
    }
    throw this.#corrupt(key, `${keyFolder} holds no version`)
  }

  async #highestIn(key: string, epochFolder: string): Promise<number | undefined> {
    const stat = await orUndefined('ENOENT', () => lstat(epochFolder))
    if (stat === undefined) return undefined
    if (!stat.isDirectory()) throw this.#corrupt(key, `${epochFolder} is no folder`)
    return epochs.highestVersion((await orUndefined('ENOENT', () => readdir(epochFolder))) ?? [])
  }

  async #readState(key: string, hash: string, place: Place): Promise<RegisterState | undefined> {
    const path = epochs.pathIn(join(this.#keys, hash), place)
    const { number } = place
    try {
      const file = await readRegular(path, MAX_ENTRY_BYTES)
      if (file === undefined) return undefined
      const entry = decodeEntry(file.bytes, { key, number })
      if (typeof entry === 'string') return { number, corrupt: this.#corrupt(key, entry, path) }
      this.#remember(hash, { place: epochs.placeOf(place.epoch, entry), entry, stat: file.stat })
      return entry
    } catch (error) {
      if (errnoOf(error) !== 'ELOOP') throw error
      return { number, corrupt: this.#corrupt(key, 'it is a link or another special file', path) }
    }
  }

  async #readKey(hash: string): Promise<string> {
    const path = join(this.#keys, hash, 'key')
    const file = await readRegular(path, MAX_ENTRY_BYTES)
    const key = file === undefined ? '' : Buffer.from(file.bytes).toString('utf8')
    if (hashOf(key) !== hash) throw this.#corrupt(`(unknown, in ${hash})`, 'it does not fit its folder', path)
    this.#keyNames.set(hash, key)
    return key
  }

  /** undefined: somebody else made it first. */
  async #create(key: string, hash: string, text: string | null): Promise<RegisterEntry | undefined> {
    const number = 1
    const place = epochs.unreadPlace(epochs.newEpoch(number), number)
    const entry: RegisterEntry = { key, number, token: randomToken(), next: null, text }
    const staged = temporaryPath(this.#temporaries)
    const options = { fsync: this.#fsync }
    try {
      await mkdir(join(staged, place.epoch), { recursive: true, mode: 0o700 })
      await Promise.all([
        writeNew(join(staged, 'key'), Buffer.from(key), options),
        writeNew(epochs.pathIn(staged, place), encodeEntry(entry), options),
      ])
      await this.#sync(join(staged, place.epoch), staged)
      failpoint('register.create.staged')
      await rename(staged, join(this.#keys, hash))
    } catch (error) {
      await rm(staged, { recursive: true, force: true })
      if (['ENOTEMPTY', 'EEXIST'].includes(errnoOf(error) ?? '')) return undefined
      throw error
    }
    failpoint('register.create.renamed')
    await this.#sync(this.#keys)
    this.#remember(hash, { place })
    return entry
  }

  /** undefined: somebody else was faster. */
  async #append(key: string, found: Found, text: string | null): Promise<RegisterEntry | undefined> {
    const keyFolder = join(this.#keys, hashOf(key))
    const place = epochs.successorOf(found.place)
    const next = epochs.followingEpoch(place.number)
    const entry: RegisterEntry = { key, number: place.number, token: randomToken(), next, text }
    const temporary = temporaryPath(this.#temporaries)
    try {
      if (next !== null) {
        await mkdir(join(keyFolder, next), { mode: 0o700 })
        await this.#sync(keyFolder)
      }
      await writeNew(temporary, encodeEntry(entry), { fsync: this.#fsync })
      failpoint('register.append.written')
      await link(temporary, epochs.pathIn(keyFolder, place))
    } catch (error) {
      if (next !== null) await rmdir(join(keyFolder, next)).catch(() => undefined)
      if (['EEXIST', 'ENOENT'].includes(errnoOf(error) ?? '')) {
        await this.#confirmFolder()
        return undefined
      }
      throw error
    } finally {
      await unlink(temporary).catch(() => undefined)
    }
    failpoint('register.append.linked')
    const [stat] = await Promise.all([
      orUndefined('ENOENT', () => lstat(epochs.pathIn(keyFolder, place))),
      this.#sync(join(keyFolder, place.epoch)),
    ])
    this.#remember(hashOf(key), { place: epochs.placeOf(place.epoch, entry), entry, stat })
    if (place.epoch !== found.place.epoch) await this.#retire(keyFolder, place.epoch)
    return entry
  }

  /** Removes what came before `current`, oldest first. What cannot be removed now is met again at the next epoch. */
  async #retire(keyFolder: string, current: string): Promise<void> {
    try {
      const names = epochs.epochsAmong(await readdir(keyFolder)).reverse()
      for (const name of names) {
        if (name === current || epochs.orderOf(name) > epochs.orderOf(current)) continue
        const removed = temporaryPath(this.#temporaries)
        failpoint('register.retire')
        await rename(join(keyFolder, name), removed)
        await rm(removed, { recursive: true, force: true })
      }
    } catch (error) {
      if (errnoOf(error) === undefined) throw error
    }
  }

  /** A folder that was removed under us is not one in which somebody else was faster. */
  async #confirmFolder(): Promise<void> {
    await lstat(this.#temporaries)
    await lstat(this.#keys)
  }

  async #sync(...folders: string[]): Promise<void> {
    if (this.#fsync) await Promise.all(folders.map(syncFolder))
  }

  #remember(hash: string, { place, entry, stat }: Known): void {
    const isSmall = (entry?.text?.length ?? 0) <= CACHED_TEXT
    this.#known.set(hash, isSmall ? { place, entry, stat } : { place })
  }

  #corrupt(key: string, reason: string, path?: string): SandboxError<'state_corrupt'> {
    const where = path === undefined ? '' : ` (${path})`
    const advice = 'It was left as it is: write or delete the key without a condition to replace it.'
    const message = `${this.#store}: the state of ${key} cannot be read: ${reason}${where}. ${advice}`
    return new SandboxError('state_corrupt', message, { key, reason })
  }
}

function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}

async function orUndefined<T>(code: string, task: () => Promise<T>): Promise<T | undefined> {
  try {
    return await task()
  } catch (error) {
    if (errnoOf(error) === code) return undefined
    throw error
  }
}

async function mapLimited<T, R>(items: readonly T[], task: (item: T) => Promise<R>): Promise<R[]> {
  const results = new Array<R>(items.length)
  let next = 0
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) results[index] = await task(items[index] as T)
  }
  await Promise.all(Array.from({ length: 8 }, worker))
  return results
}
