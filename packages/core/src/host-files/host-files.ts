import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
} from 'node:fs'
import type {
  ByteSource,
  DirEntry,
  FileRead,
  FileStat,
  FileToWrite,
  ReadRange,
  SandboxFiles,
  TreeEntry,
  TreeOptions,
  WriteOptions,
} from '../contracts/files.js'
import { assertNotAborted } from '../errors/assert-not-aborted.js'
import { isSandboxError, SandboxError } from '../errors/sandbox-error.js'
import { comparePaths } from '../path/path-bytes.js'
import { clearTree } from './clear-tree.js'
import { fileTypeOf, toFileStat } from './describe-stat.js'
import { toSeconds } from './file-times.js'
import { alreadyExists, mapFileError, notADirectory, pathDenied } from './map-error.js'
import { fromNativePath, isLossy, toNativePath } from './native-path.js'
import { choosePlaceOpener } from './place.js'
import type { Place, PlaceOpener } from './place.js'
import { readContent } from './read-content.js'
import { readMany } from './read-many.js'
import { writeFile } from './replace-file.js'
import { assertDirectory, joinReal, PathResolver } from './resolve-path.js'
import type { EntryPlace } from './resolve-path.js'
import { HostRoots } from './roots.js'
import type { HostRoot } from './roots.js'
import { walkTree } from './tree-walk.js'
import { writeMany } from './write-many.js'

export interface HostFilesOptions {
  /** What may be used: directories, or single files. Where they nest, the innermost decides. */
  readonly roots: readonly HostRoot[]
  /** Beneath a root, and yet as if outside. Absolute. Default: none. */
  readonly hidden?: readonly string[]
  /** Called before anything is looked at; throws when that may not be. Default: nothing. */
  readonly beforeRead?: () => void
  /**
   * Called before anything is changed, and for contents that take their time once more right before they show; throws when
   * that may not be any more, e.g. `lease_lost`. It should take no longer than a system call. Default: nothing.
   */
  readonly beforeWrite?: () => void
}

/**
 * `SandboxFiles` over directories of this host: sandbox paths are host paths.
 *
 * On Linux no other process can lead it astray: a path is opened once (O_PATH), /proc/self/fd says where that really is, and
 * what is done is done through the descriptor. Elsewhere real paths are looked up, decided on and, where contents are
 * opened, compared: a process that swaps a link at the right moment can still have a *name* made or removed outside.
 * Without mount ids, which Linux has, only what lies on another device counts as a mount.
 *
 * Calls on single files and directories are synchronous inside, and bulk work is cut into stretches of a few milliseconds:
 * libuv's thread pool costs more than the calls themselves. Contents over 256 KiB go through the pool. At most some 40
 * descriptors are open per call, whatever the size of a tree, plus one for each stream that is not drained.
 *
 * Modification times are set to the microsecond; Node knows no finer ones. Nothing is synced to disk: who needs that to
 * survive a power cut asks the file system for it.
 */
export function createHostFiles(options: HostFilesOptions): SandboxFiles {
  return openHostFiles(options, choosePlaceOpener())
}

/** The same over one way of opening places; for tests of the other way. */
export function openHostFiles(options: HostFilesOptions, open: PlaceOpener): SandboxFiles {
  const { roots, hidden = [], beforeRead = nothing, beforeWrite = nothing } = options
  return new HostFiles(new PathResolver(open, new HostRoots(roots, hidden)), { beforeRead, beforeWrite })
}

function nothing(): void {}

interface Checks {
  readonly beforeRead: () => void
  readonly beforeWrite: () => void
}

class HostFiles implements SandboxFiles {
  readonly #resolver: PathResolver
  readonly #checks: Checks

  constructor(resolver: PathResolver, checks: Checks) {
    this.#resolver = resolver
    this.#checks = checks
  }

  async stat(path: string): Promise<FileStat | undefined> {
    this.#checks.beforeRead()
    try {
      return this.#at(path, { follow: false, use: 'read' }, (place) => toFileStat(place.stat))
    } catch (error) {
      if (isSandboxError(error, 'not_found')) return undefined
      throw error
    }
  }

  async readlink(path: string): Promise<string> {
    this.#checks.beforeRead()
    return this.#in(path, 'read', ({ directory, name }) => {
      const at = directory.child(name)
      const text = readlinkSync(at)
      return isLossy(text) ? fromNativePath(readlinkSync(at, { encoding: 'buffer' })) : text
    })
  }

  async *list(path: string): AsyncGenerator<DirEntry, void, undefined> {
    this.#checks.beforeRead()
    yield* this.#at(path, { follow: true, use: 'read' }, (place) => this.#entries(place, path))
  }

  async read(path: string, range?: ReadRange): Promise<ReadableStream<Uint8Array>> {
    this.#checks.beforeRead()
    return this.#at(path, { follow: true, use: 'read' }, (place) => readContent(place, path, range).streamAlone())
  }

  async write(path: string, data: ByteSource, options: WriteOptions = {}): Promise<void> {
    if (options.mode !== undefined) assertMode(options.mode)
    await writeFile(this.#resolver, { path, data, options, beforeWrite: this.#checks.beforeWrite })
  }

  async mkdir(path: string, options: { readonly recursive?: boolean; readonly mode?: number } = {}): Promise<void> {
    const { recursive = false, mode = 0o755 } = options
    assertMode(mode)
    this.#checks.beforeWrite()
    if (recursive) this.#makeAll(path, mode)
    else this.#in(path, 'write', (entry) => this.#make(entry, mode))
  }

  async remove(
    path: string,
    options: { readonly recursive?: boolean; readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    assertNotAborted(options.signal, 'files.remove')
    this.#checks.beforeWrite()
    const entry = this.#resolver.entry(path, 'write')
    try {
      await this.#remove(entry, path, options)
    } catch (error) {
      throw mapFileError(error, path)
    } finally {
      entry.directory.close()
    }
  }

  async rename(from: string, to: string): Promise<void> {
    this.#checks.beforeWrite()
    this.#in(from, 'write', (source) => {
      this.#assertMovable(source, from)
      if (lstatSync(source.directory.child(source.name), { throwIfNoEntry: false }) === undefined) {
        throw mapFileError(Object.assign(new Error('ENOENT'), { code: 'ENOENT', syscall: 'rename' }), from)
      }
      this.#in(to, 'write', (target) => {
        this.#assertMovable(target, to)
        renameSync(source.directory.child(source.name), target.directory.child(target.name))
      })
    })
  }

  async link(existing: string, path: string): Promise<void> {
    this.#checks.beforeWrite()
    // A second name is a second way to write: what is read-only gets none.
    this.#in(existing, 'write', (source) => {
      const stat = lstatSync(source.directory.child(source.name))
      if (stat.isDirectory()) throw pathDenied(existing, 'directories have one name only')
      this.#in(path, 'write', (target) => {
        linkSync(source.directory.child(source.name), target.directory.child(target.name))
      })
    })
  }

  async symlink(target: string, path: string): Promise<void> {
    if (target === '' || target.includes('\0')) {
      const reason = target === '' ? 'it is empty' : 'it holds a NUL byte'
      throw new SandboxError('invalid_argument', `The target of a link cannot be used: ${reason}.`, {
        argument: 'target',
        reason,
      })
    }
    this.#checks.beforeWrite()
    this.#in(path, 'write', ({ directory, name }) => symlinkSync(toNativePath(target), directory.child(name)))
  }

  async chmod(path: string, mode: number): Promise<void> {
    assertMode(mode)
    this.#checks.beforeWrite()
    this.#at(path, { follow: true, use: 'write' }, (place) => chmodSync(place.self, mode))
  }

  async utimens(path: string, mtimeNs: bigint): Promise<void> {
    this.#checks.beforeWrite()
    const seconds = toSeconds(mtimeNs)
    this.#at(path, { follow: true, use: 'write' }, (place) => utimesSync(place.self, seconds, seconds))
  }

  async *tree(root: string, options?: TreeOptions): AsyncGenerator<TreeEntry, void, undefined> {
    this.#checks.beforeRead()
    yield* walkTree(this.#resolver, root, options)
  }

  async *readMany(
    paths: AsyncIterable<string> | Iterable<string>,
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<FileRead, void, undefined> {
    this.#checks.beforeRead()
    yield* readMany(this.#resolver, paths, options.signal)
  }

  async writeMany(
    entries: AsyncIterable<FileToWrite> | Iterable<FileToWrite>,
    into: string,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    this.#checks.beforeWrite()
    const { beforeWrite } = this.#checks
    await writeMany(this.#resolver, { entries, into, signal: options.signal, beforeWrite })
  }

  #entries(directory: Place, path: string): DirEntry[] {
    assertDirectory(directory, path)
    return readdirSync(directory.self, { encoding: 'buffer', withFileTypes: true })
      .map((entry) => ({ name: fromNativePath(entry.name), type: fileTypeOf(entry) }))
      .filter(({ name }) => !this.#resolver.roots.isHidden(joinReal(directory.real, name)))
      .sort((a, b) => comparePaths(a.name, b.name))
  }

  #make({ directory, name }: EntryPlace, mode: number): void {
    const at = directory.child(name)
    mkdirSync(at, mode)
    // The process's umask is for programs; here the caller said what it wants.
    if ((mode & ~process.umask()) === mode && (mode & 0o7000) === 0) return
    const made = this.#resolver.open(at, { follow: false, directory: true })
    try {
      chmodSync(made.self, mode)
    } finally {
      made.close()
    }
  }

  /** From the first missing parent down. */
  #makeAll(path: string, mode: number): void {
    const missing: string[] = []
    for (let at = path; ; at = parentOf(at)) {
      const there = this.#isDirectory(at)
      if (there === true) break
      if (there === false) throw missing.length === 0 ? alreadyExists(path) : notADirectory(path)
      missing.push(at)
    }
    for (const [index, at] of missing.reverse().entries()) {
      try {
        this.#in(at, 'write', (entry) => this.#make(entry, index === missing.length - 1 ? mode : 0o755))
      } catch (error) {
        // Made by somebody else meanwhile, or a link that leads to nothing.
        if (!isSandboxError(error, 'already_exists') || this.#isDirectory(at) !== true) throw error
      }
    }
  }

  /** Undefined: nothing is there. */
  #isDirectory(path: string): boolean | undefined {
    const place = this.#resolver.find(path, { follow: true, use: 'write' })
    try {
      return place?.stat.isDirectory()
    } finally {
      place?.close()
    }
  }

  async #remove(
    entry: EntryPlace,
    path: string,
    options: { readonly recursive?: boolean; readonly signal?: AbortSignal },
  ): Promise<void> {
    const { directory, name } = entry
    const at = directory.child(name)
    if (!lstatSync(at).isDirectory()) {
      unlinkSync(at)
      return
    }
    this.#assertMovable(entry, path)
    if (options.recursive !== true) {
      rmdirSync(at)
      return
    }
    const { beforeWrite } = this.#checks
    const { signal } = options
    await clearTree({
      open: this.#resolver.open,
      directory,
      name,
      path,
      beforeWrite,
      ...(signal === undefined ? {} : { signal }),
    })
  }

  #assertMovable({ directory, name }: EntryPlace, path: string): void {
    if (!this.#resolver.roots.holdsOthers(joinReal(directory.real, name))) return
    throw pathDenied(path, 'it holds an allowed directory, which must stay')
  }

  #at<T>(path: string, how: { readonly follow: boolean; readonly use: 'read' | 'write' }, act: (place: Place) => T): T {
    const place = this.#resolver.existing(path, how)
    try {
      return act(place)
    } catch (error) {
      throw mapFileError(error, path)
    } finally {
      place.close()
    }
  }

  #in<T>(path: string, use: 'read' | 'write', act: (entry: EntryPlace) => T): T {
    const entry = this.#resolver.entry(path, use)
    try {
      return act(entry)
    } catch (error) {
      throw mapFileError(error, path)
    } finally {
      entry.directory.close()
    }
  }
}

function parentOf(path: string): string {
  const trimmed = path.replace(/\/+$/, '')
  return trimmed.slice(0, trimmed.lastIndexOf('/')) || '/'
}

function assertMode(mode: number): void {
  if (Number.isInteger(mode) && mode >= 0 && mode <= 0o7777) return
  const reason = 'it is not a whole number from 0 to 0o7777'
  throw new SandboxError('invalid_argument', `The mode cannot be used: ${reason}.`, { argument: 'mode', reason })
}
