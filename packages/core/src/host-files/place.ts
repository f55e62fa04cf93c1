import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs'
import type { BigIntStats } from 'node:fs'
import { dirname } from 'node:path/posix'
import { fromNativePath, isLossy, toNativePath } from './native-path.js'
import type { NativePath } from './native-path.js'

/**
 * Something that a path was resolved to, once. Whatever is decided is decided on `real`, and whatever is done is done
 * through `self` or `child`, so that a link swapped in meanwhile leads nowhere.
 */
export interface Place {
  /** Absolute, without links: where it was when it was opened. */
  readonly real: string
  /** Described without following it: a link is a link. */
  readonly stat: BigIntStats
  /** Whether `self` and `child` go through a descriptor; else they are paths that another process may bend. */
  readonly held: boolean
  /** A path of the system that means this very thing. */
  readonly self: NativePath
  /** A path of the system for a name in this directory. */
  child(name: string): NativePath
  /** Which mount it lies in, where the system tells; else which device. */
  mountId(): string
  close(): void
}

export interface OpenPlace {
  /** Follow a link at the end of the path. */
  readonly follow: boolean
  /** ENOTDIR unless it is a directory. */
  readonly directory?: boolean
  /** Where it is, when that is known: a name in an open directory, not followed. Saves a system call. */
  readonly real?: string
}

/** Resolves a path of the system. Throws the system's own error. */
export type PlaceOpener = (path: NativePath, how: OpenPlace) => Place

/** Descriptors where the system has /proc/self/fd, else paths that are verified after the fact. */
export function choosePlaceOpener(): PlaceOpener {
  return process.platform === 'linux' && existsSync('/proc/self/fd/0') ? openDescriptor : openByRealPath
}

/** Linux's O_PATH: a descriptor that opens nothing, so that no FIFO blocks and no device is touched. Not in fs.constants. */
const O_PATH = 0x200000
const DELETED = ' (deleted)'

/** Linux: an O_PATH descriptor. Acting on /proc/self/fd/N acts on what the descriptor holds, whatever names now say. */
export const openDescriptor: PlaceOpener = (path, { follow, directory = false, real }) => {
  const flags = O_PATH | (follow ? 0 : constants.O_NOFOLLOW) | (directory ? constants.O_DIRECTORY : 0)
  const place = new DescriptorPlace(openSync(path, flags))
  try {
    place.locate(real)
    return place
  } catch (error) {
    place.close()
    throw error
  }
}

class DescriptorPlace implements Place {
  readonly held = true
  readonly self: string
  real = ''
  readonly #fd: number
  #stat: BigIntStats | undefined
  #closed = false

  constructor(fd: number) {
    this.#fd = fd
    this.self = `/proc/self/fd/${fd}`
  }

  get stat(): BigIntStats {
    if (this.#stat === undefined && this.#closed) throw new TypeError('the place has been closed')
    return (this.#stat ??= fstatSync(this.#fd, { bigint: true }))
  }

  locate(known: string | undefined): void {
    if (known !== undefined) {
      this.real = known
      return
    }
    const text = readlinkSync(this.self)
    this.real = isLossy(text) ? fromNativePath(readlinkSync(this.self, { encoding: 'buffer' })) : text
    // The kernel marks what was removed by a suffix, which is also a lawful end of a name.
    if (this.real.endsWith(DELETED) && !this.#isNamed(this.real)) throw missing(this.self)
  }

  child(name: string): NativePath {
    // The number may be another file's by now.
    if (this.#closed) throw new TypeError('the place has been closed')
    return toNativePath(`${this.self}/${name}`)
  }

  mountId(): string {
    const info = readFileSync(`/proc/self/fdinfo/${this.#fd}`, 'latin1')
    return /^mnt_id:\s*(\d+)$/m.exec(info)?.[1] ?? `dev ${this.stat.dev}`
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    closeSync(this.#fd)
  }

  #isNamed(real: string): boolean {
    const named = lstatSync(toNativePath(real), { bigint: true, throwIfNoEntry: false })
    return named !== undefined && named.ino === this.stat.ino && named.dev === this.stat.dev
  }
}

/**
 * Elsewhere: the real path at the moment of the call. Weaker: between the decision and the action a link may be swapped
 * in by another process; what was opened is compared with what was decided on, but names cannot be held.
 */
export const openByRealPath: PlaceOpener = (path, { follow, directory = false }) => {
  const text = typeof path === 'string' ? path : fromNativePath(path)
  const name = text.slice(text.lastIndexOf('/') + 1)
  const whole = follow || name === '' || name === '.' || name === '..'
  const parent = whole ? '' : realPathOf(dirname(text))
  const real = whole ? realPathOf(text) : `${parent === '/' ? '' : parent}/${name}`
  const stat = lstatSync(toNativePath(real), { bigint: true })
  if (directory && !stat.isDirectory()) throw systemError('ENOTDIR', real)
  return {
    real,
    stat,
    held: false,
    self: toNativePath(real),
    child: (child) => toNativePath(`${real === '/' ? '' : real}/${child}`),
    mountId: () => `dev ${statSync(toNativePath(real), { bigint: true }).dev}`,
    close: () => undefined,
  }
}

function realPathOf(text: string): string {
  return fromNativePath(realpathSync.native(toNativePath(text), { encoding: 'buffer' }))
}

function missing(path: string): NodeJS.ErrnoException {
  return systemError('ENOENT', path)
}

function systemError(code: string, path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: ${path}`), { code, syscall: 'open', path })
}
