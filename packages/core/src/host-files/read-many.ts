import { closeSync, constants, fstatSync, lstatSync, openSync } from 'node:fs'
import type { BigIntStats } from 'node:fs'
import type { FileRead } from '../contracts/files.js'
import { assertNotAborted } from '../errors/assert-not-aborted.js'
import { isSandboxError } from '../errors/sandbox-error.js'
import { toFileStat } from './describe-stat.js'
import { errnoOf, mapFileError } from './map-error.js'
import { Pacer } from './pacer.js'
import { contentOf, readContent } from './read-content.js'
import type { ReadContent } from './read-content.js'
import { joinReal } from './resolve-path.js'
import type { PathResolver } from './resolve-path.js'
import type { Place } from './place.js'

/** `SandboxFiles.readMany` over host directories. */
export async function* readMany(
  resolver: PathResolver,
  paths: AsyncIterable<string> | Iterable<string>,
  signal: AbortSignal | undefined,
): AsyncGenerator<FileRead, void, undefined> {
  assertNotAborted(signal, 'files.readMany')
  const reader = new FileReader(resolver)
  const pacer = new Pacer()
  try {
    for await (const path of paths) {
      if (pacer.due()) await pacer.rest()
      assertNotAborted(signal, 'files.readMany')
      const file = reader.read(path)
      if (file === undefined) continue
      try {
        yield file
      } finally {
        await file.close()
      }
    }
  } finally {
    reader.close()
  }
}

/** Files mostly come directory by directory, so that the last directory is kept open. */
class FileReader {
  readonly #resolver: PathResolver
  #path: string | undefined
  #parent: Place | undefined

  constructor(resolver: PathResolver) {
    this.#resolver = resolver
  }

  /** Undefined when it is no longer there. */
  read(path: string): OneFile | undefined {
    try {
      return this.#readHere(path) ?? this.#readAnywhere(path)
    } catch (error) {
      if (isSandboxError(error, 'not_found') || errnoOf(error) === 'ENOENT') return undefined
      throw mapFileError(error, path)
    }
  }

  close(): void {
    this.#parent?.close()
    this.#parent = undefined
    this.#path = undefined
  }

  /** Through the directory that is open already, when that leads to a file without a link. Else undefined. */
  #readHere(path: string): OneFile | undefined {
    const slash = path.lastIndexOf('/')
    const name = path.slice(slash + 1)
    if (name === '' || name === '.' || name === '..' || path.includes('\0')) return undefined
    const parent = this.#open(path.slice(0, slash) || '/')
    if (!parent.held) return undefined
    const at = parent.child(name)
    // Seen before it is opened, so that no FIFO is met and no device woken; O_NONBLOCK stands behind that.
    if (!lstatSync(at).isFile()) return undefined
    this.#resolver.roots.admit(joinReal(parent.real, name), path, 'read')
    const fd = openPlain(at)
    const stat = fd === undefined ? undefined : fstatSync(fd, { bigint: true })
    if (fd === undefined || stat === undefined) return undefined
    if (stat.isFile()) return new OneFile(path, stat, contentOf(fd, Number(stat.size), { path }))
    closeSync(fd)
    return undefined
  }

  #readAnywhere(path: string): OneFile {
    const place = this.#resolver.existing(path, { follow: true, use: 'read' })
    try {
      return new OneFile(path, place.stat, readContent(place, path))
    } finally {
      place.close()
    }
  }

  #open(directory: string): Place {
    if (this.#parent !== undefined && this.#path === directory) return this.#parent
    this.close()
    const place = this.#resolver.existing(directory, { follow: true, use: 'read' })
    this.#parent = place
    this.#path = directory
    return place
  }
}

const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY

/** Undefined: it has become a link. */
function openPlain(at: string | Buffer): number | undefined {
  try {
    return openSync(at, FLAGS)
  } catch (error) {
    if (errnoOf(error) === 'ELOOP') return undefined
    throw error
  }
}

class OneFile implements FileRead {
  readonly path: string
  readonly stat: FileRead['stat']
  readonly bytes: Uint8Array | null
  readonly #content: ReadContent
  #stream: ReadableStream<Uint8Array> | undefined

  constructor(path: string, stat: BigIntStats, content: ReadContent) {
    this.path = path
    this.stat = toFileStat(stat)
    this.#content = content
    this.bytes = content.bytes
  }

  get content(): ReadableStream<Uint8Array> {
    return (this.#stream ??= this.#content.stream())
  }

  async after(): Promise<FileRead['stat']> {
    return this.#content.after()
  }

  close(): Promise<void> {
    return this.#content.close()
  }
}
