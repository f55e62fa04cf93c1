import type { FileRead } from '../contracts/files.js'
import { assertNotAborted } from '../errors/assert-not-aborted.js'
import { isSandboxError } from '../errors/sandbox-error.js'
import { toFileStat } from './describe-stat.js'
import { errnoOf, mapFileError } from './map-error.js'
import { Pacer } from './pacer.js'
import { readContent } from './read-content.js'
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
  #parent: { readonly path: string; readonly place: Place } | undefined

  constructor(resolver: PathResolver) {
    this.#resolver = resolver
  }

  /** Undefined when it is no longer there. */
  read(path: string): OneFile | undefined {
    try {
      const place = this.#locate(path)
      try {
        return new OneFile(path, place, readContent(place, path))
      } finally {
        place.close()
      }
    } catch (error) {
      if (isSandboxError(error, 'not_found') || errnoOf(error) === 'ENOENT') return undefined
      throw mapFileError(error, path)
    }
  }

  close(): void {
    this.#parent?.place.close()
    this.#parent = undefined
  }

  /** Through the directory that is open already when that leads there without a link; else like any other path. */
  #locate(path: string): Place {
    const slash = path.lastIndexOf('/')
    const name = path.slice(slash + 1)
    const directory = path.slice(0, slash) || '/'
    if (name === '' || name === '.' || name === '..' || path.includes('\0')) return this.#resolve(path)
    if (this.#parent?.path !== directory) {
      this.close()
      this.#parent = { path: directory, place: this.#resolver.existing(directory, { follow: true, use: 'read' }) }
    }
    const parent = this.#parent.place
    const place = this.#resolver.open(parent.child(name), { follow: false, real: joinReal(parent.real, name) })
    if (place.stat.isFile()) {
      try {
        this.#resolver.roots.admit(place.real, path, 'read')
        return place
      } catch (error) {
        place.close()
        throw error
      }
    }
    place.close()
    return this.#resolve(path)
  }

  #resolve(path: string): Place {
    return this.#resolver.existing(path, { follow: true, use: 'read' })
  }
}

class OneFile implements FileRead {
  readonly path: string
  readonly stat: FileRead['stat']
  readonly bytes: Uint8Array | null
  readonly #content: ReadContent
  #stream: ReadableStream<Uint8Array> | undefined

  constructor(path: string, place: Place, content: ReadContent) {
    this.path = path
    this.stat = toFileStat(place.stat)
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
