import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  futimesSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
} from 'node:fs'
import type { FileToWrite } from '../contracts/files.js'
import { assertNotAborted } from '../errors/assert-not-aborted.js'
import { escapes, pathComponents, unusable } from '../path/path-components.js'
import { clearTree } from './clear-tree.js'
import { fillFile, giveUp, writeAtOnce } from './fill-file.js'
import { toSeconds } from './file-times.js'
import { errnoOf, mapFileError, pathDenied } from './map-error.js'
import { toNativePath } from './native-path.js'
import { Pacer } from './pacer.js'
import { assertDirectory, joinReal } from './resolve-path.js'
import type { EntryPlace, PathResolver } from './resolve-path.js'
import type { Place } from './place.js'

/** Directories beneath the target that are kept open: trees come in their order, so that few are needed. */
const MAX_OPEN = 32
const AT_ONCE_BYTES = 256 * 1024
const MAX_ATTEMPTS = 16

export interface WriteManyRequest {
  readonly entries: AsyncIterable<FileToWrite> | Iterable<FileToWrite>
  readonly into: string
  readonly signal: AbortSignal | undefined
  readonly beforeWrite: () => void
}

/** `SandboxFiles.writeMany` over host directories. */
export async function writeMany(resolver: PathResolver, request: WriteManyRequest): Promise<void> {
  assertNotAborted(request.signal, 'files.writeMany')
  const writing = new ManyFiles(resolver, request)
  const pacer = new Pacer()
  try {
    writing.start()
    for await (const entry of request.entries) {
      try {
        assertNotAborted(request.signal, 'files.writeMany')
        request.beforeWrite()
        const slow = writing.put(entry)
        if (slow !== undefined) await slow
      } catch (error) {
        if (entry.type === 'file') await giveUp(entry.content)
        throw mapFileError(error, joinReal(request.into, entry.path))
      }
      if (pacer.due()) await pacer.rest()
    }
    writing.finish()
  } catch (error) {
    throw mapFileError(error, request.into)
  } finally {
    writing.close()
  }
}

class ManyFiles {
  readonly #resolver: PathResolver
  readonly #request: WriteManyRequest
  /** By path relative to the target, least recently used first. */
  readonly #open = new Map<string, Place>()
  /** What directories get at the end: contents written later would change their time, or be forbidden by their mode. */
  readonly #late: { readonly path: string; readonly mode: number | undefined; readonly mtimeNs: bigint | undefined }[] =
    []
  #into: Place | undefined
  #mountId = ''

  constructor(resolver: PathResolver, request: WriteManyRequest) {
    this.#resolver = resolver
    this.#request = request
  }

  start(): void {
    this.#into = this.#resolver.existing(this.#request.into, { follow: true, use: 'write' })
    assertDirectory(this.#into, this.#request.into)
    this.#mountId = this.#into.mountId()
  }

  /** Writes one entry. A promise when that takes more than a moment. */
  put(entry: FileToWrite): Promise<void> | undefined {
    const at = this.#locate(entry.path)
    switch (entry.type) {
      case 'directory':
        return this.#putDirectory(entry, at)
      case 'symlink':
        return this.#replacing(at, entry, () => {
          symlinkSync(toNativePath(entry.linkTarget), at.directory.child(at.name))
          if (entry.mtimeNs === undefined) return
          const seconds = toSeconds(entry.mtimeNs)
          lutimesSync(at.directory.child(at.name), seconds, seconds)
        })
      case 'hardlink': {
        return this.#putHardlink(entry, at)
      }
      case 'file':
        return this.#putFile(entry, at)
    }
  }

  finish(): void {
    for (const { path, mode, mtimeNs } of this.#late.reverse()) {
      const directory = this.#directory(path.split('/'))
      if (mode !== undefined) chmodSync(directory.self, mode)
      if (mtimeNs !== undefined) utimesSync(directory.self, toSeconds(mtimeNs), toSeconds(mtimeNs))
    }
  }

  close(): void {
    for (const place of this.#open.values()) place.close()
    this.#open.clear()
    this.#into?.close()
    this.#into = undefined
  }

  #putDirectory(entry: Extract<FileToWrite, { type: 'directory' }>, at: EntryPlace): Promise<void> | undefined {
    const child = at.directory.child(at.name)
    const there = lstatSync(child, { throwIfNoEntry: false })
    if (there !== undefined && !there.isDirectory()) unlinkSync(child)
    if (there === undefined || !there.isDirectory()) mkdirSync(child, 0o700)
    const path = pathComponents(entry.path, 'path').join('/')
    const directory = this.#directory(path.split('/'))
    // Until everything is in it, we must be able to write into it.
    const open = entry.mode | 0o700
    chmodSync(directory.self, open)
    const mode = open === entry.mode ? undefined : entry.mode
    if (mode !== undefined || entry.mtimeNs !== undefined) this.#late.push({ path, mode, mtimeNs: entry.mtimeNs })
    return undefined
  }

  async #putHardlink(entry: Extract<FileToWrite, { type: 'hardlink' }>, at: EntryPlace): Promise<void> {
    const components = relativeComponents(entry.linkTarget)
    // Not through the directories that are kept open: there `at` could be closed to make room.
    const directory = this.#openAlone(components.slice(0, -1))
    try {
      const from = directory.child(components.at(-1) ?? '')
      await this.#replacing(at, entry, () => linkSync(from, at.directory.child(at.name)))
    } finally {
      directory.close()
    }
  }

  #putFile(entry: Extract<FileToWrite, { type: 'file' }>, at: EntryPlace): Promise<void> | undefined {
    const { content } = entry
    if (content instanceof Uint8Array && content.length <= AT_ONCE_BYTES) {
      return this.#replacing(at, entry, () => {
        const fd = createFile(at)
        try {
          writeAtOnce(fd, content, { bytes: 0 })
          complete(fd, entry)
        } catch (error) {
          unlinkSync(at.directory.child(at.name))
          throw error
        } finally {
          closeSync(fd)
        }
      })
    }
    return this.#stream(entry, at)
  }

  async #stream(entry: Extract<FileToWrite, { type: 'file' }>, at: EntryPlace): Promise<void> {
    let fd = -1
    await this.#replacing(at, entry, () => (fd = createFile(at)))
    try {
      await fillFile(fd, entry.content, this.#request.signal === undefined ? {} : { signal: this.#request.signal })
      this.#request.beforeWrite()
      complete(fd, entry)
    } catch (error) {
      unlinkSync(at.directory.child(at.name))
      throw error
    } finally {
      closeSync(fd)
    }
  }

  /** Makes something under a name; what is in the way goes first. */
  #replacing(at: EntryPlace, entry: FileToWrite, make: () => unknown): Promise<void> | undefined {
    try {
      make()
      return undefined
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error
      return this.#replaceSlowly(at, entry, make)
    }
  }

  async #replaceSlowly(at: EntryPlace, entry: FileToWrite, make: () => unknown): Promise<void> {
    const { directory, name } = at
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const there = lstatSync(directory.child(name), { throwIfNoEntry: false })
      const path = joinReal(this.#request.into, entry.path)
      if (there?.isDirectory() === true) {
        if (this.#resolver.roots.holdsOthers(joinReal(directory.real, name)))
          throw pathDenied(path, 'it holds a directory that must stay')
        await clearTree({ open: this.#resolver.open, directory, name, path, beforeWrite: this.#request.beforeWrite })
      } else if (there !== undefined) unlinkSync(directory.child(name))
      try {
        make()
        return
      } catch (error) {
        if (errnoOf(error) !== 'EEXIST') throw error
      }
    }
    throw pathDenied(entry.path, 'something else keeps being put there')
  }

  #locate(path: string): EntryPlace {
    const components = relativeComponents(path)
    const name = components.at(-1) ?? ''
    const directory = this.#directory(components.slice(0, -1))
    this.#resolver.roots.admit(joinReal(directory.real, name), joinReal(this.#request.into, path), 'write')
    return { directory, name }
  }

  /** A directory beneath the target, each step without following a link or entering a mount. */
  #directory(components: readonly string[]): Place {
    const into = this.#into
    if (into === undefined) throw new TypeError('the directory to write into is not open')
    if (components.length === 0) return into
    const path = components.join('/')
    const known = this.#open.get(path)
    if (known !== undefined) {
      this.#open.delete(path)
      this.#open.set(path, known)
      return known
    }
    const parent = this.#directory(components.slice(0, -1))
    const place = this.#step(parent, components.at(-1) ?? '')
    this.#keep(path, place)
    return place
  }

  /** The same, for the caller to close. */
  #openAlone(components: readonly string[]): Place {
    let at = this.#resolver.open(this.#into?.self ?? '', { follow: true, directory: true })
    for (const name of components) {
      try {
        const next = this.#step(at, name)
        at.close()
        at = next
      } catch (error) {
        at.close()
        throw error
      }
    }
    return at
  }

  #step(parent: Place, name: string): Place {
    const real = joinReal(parent.real, name)
    const place = this.#resolver.open(parent.child(name), { follow: false, directory: true, real })
    if (place.mountId() === this.#mountId) return place
    place.close()
    throw pathDenied(place.real, 'something is mounted there')
  }

  #keep(path: string, place: Place): void {
    this.#open.set(path, place)
    if (this.#open.size <= MAX_OPEN) return
    const [oldest] = this.#open.keys()
    if (oldest === undefined) return
    this.#open.get(oldest)?.close()
    this.#open.delete(oldest)
  }
}

/** Throws unless the path is relative, names something beneath and never steps up. */
function relativeComponents(path: string): string[] {
  const components = pathComponents(path, 'path')
  if (path.startsWith('/')) throw unusable('path', 'it is absolute; paths are relative to the directory written into')
  if (components.includes('..')) throw escapes(path, 'path', "has a '..', which is not allowed here")
  if (components.length === 0) throw unusable('path', 'it names the directory itself')
  return components
}

function createFile(at: EntryPlace): number {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
  return openSync(at.directory.child(at.name), flags, 0o600)
}

function complete(fd: number, entry: Extract<FileToWrite, { type: 'file' }>): void {
  fchmodSync(fd, entry.mode)
  if (entry.mtimeNs !== undefined) futimesSync(fd, toSeconds(entry.mtimeNs), toSeconds(entry.mtimeNs))
}
