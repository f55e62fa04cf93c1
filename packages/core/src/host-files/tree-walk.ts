import { lstatSync, readlinkSync } from 'node:fs'
import type { TreeEntry, TreeOptions } from '../contracts/files.js'
import { assertNotAborted } from '../errors/assert-not-aborted.js'
import { fileTypeOf, isSameFile, toFileStat } from './describe-stat.js'
import { listNames } from './list-names.js'
import { errnoOf, mapFileError } from './map-error.js'
import { mountPointsBeneath } from './mounts.js'
import { fromNativePath, isLossy } from './native-path.js'
import { Pacer } from './pacer.js'
import { assertDirectory, joinReal } from './resolve-path.js'
import type { PathResolver } from './resolve-path.js'
import type { Place } from './place.js'

/** Directories that are kept open on the way down. Those further up are opened again on the way back. */
const MAX_OPEN = 16
/** Entries between two looks at the clock. */
const STRIDE = 32

/** A directory that is being gone through. */
interface Level {
  /** Undefined while it is closed. */
  place: Place | undefined
  readonly stat: Place['stat']
  readonly real: string
  /** Relative to the root, with a slash at the end; empty for the root. */
  readonly prefix: string
  readonly names: readonly string[]
  next: number
}

/** `SandboxFiles.tree` over host directories. Nothing is followed, no mount entered, nothing hidden shown. */
export async function* walkTree(
  resolver: PathResolver,
  root: string,
  options: TreeOptions = {},
): AsyncGenerator<TreeEntry, void, undefined> {
  assertNotAborted(options.signal, 'files.tree')
  const walk = new TreeWalk(resolver, options)
  const pacer = new Pacer()
  let count = 0
  try {
    walk.enter(root)
    for (;;) {
      const entry = walk.next()
      if (entry === undefined) return
      yield entry
      if (++count % STRIDE !== 0 || !pacer.due()) continue
      await pacer.rest()
      assertNotAborted(options.signal, 'files.tree')
    }
  } catch (error) {
    throw mapFileError(error, root)
  } finally {
    walk.close()
  }
}

class TreeWalk {
  readonly #resolver: PathResolver
  readonly #exclude: TreeOptions['exclude']
  readonly #levels: Level[] = []
  #mounts: ReadonlySet<string> = new Set()
  #mountId = ''

  constructor(resolver: PathResolver, options: TreeOptions) {
    this.#resolver = resolver
    this.#exclude = options.exclude
  }

  enter(root: string): void {
    const place = this.#resolver.existing(root, { follow: true, use: 'read' })
    try {
      assertDirectory(place, root)
      this.#mounts = mountPointsBeneath(place.real)
      this.#mountId = place.mountId()
      this.#levels.push({ place, stat: place.stat, real: place.real, prefix: '', names: listNames(place), next: 0 })
    } catch (error) {
      place.close()
      throw error
    }
  }

  /** The next entry, or undefined at the end. What disappears while it is looked at is left out. */
  next(): TreeEntry | undefined {
    for (;;) {
      const level = this.#levels.at(-1)
      if (level === undefined) return undefined
      const name = level.names[level.next++]
      if (name === undefined) {
        this.#leave()
        continue
      }
      const place = level.place
      const entry = place === undefined ? undefined : ifThere(() => this.#look(level, place, name))
      if (entry !== undefined) return entry
    }
  }

  close(): void {
    for (const level of this.#levels) level.place?.close()
    this.#levels.length = 0
  }

  #look(level: Level, place: Place, name: string): TreeEntry | undefined {
    const real = joinReal(level.real, name)
    if (this.#resolver.roots.isHidden(real)) return undefined
    const path = level.prefix + name
    const at = place.child(name)
    const stat = lstatSync(at, { bigint: true })
    const type = fileTypeOf(stat)
    if (this.#exclude?.(path, type) === true) return undefined
    const isMount = this.#mounts.has(real)
    // A mounted file belongs to whoever mounted it. There is no way to list it that nobody would take for ours to read.
    if (isMount && type !== 'directory') return undefined
    if (type === 'directory' && !isMount) this.#descend(place, { name, path, stat })
    return { path, ...toFileStat(stat), linkTarget: type === 'symlink' ? readTarget(at) : null }
  }

  #descend(parent: Place, child: { readonly name: string; readonly path: string; readonly stat: Place['stat'] }): void {
    const place = this.#resolver.open(parent.child(child.name), { follow: false, directory: true })
    let kept = false
    try {
      // Replaced since it was looked at, or mounted over: listed as what it was, and not entered.
      if (!isSameFile(place.stat, child.stat) || place.mountId() !== this.#mountId) return
      this.#levels.push({
        place,
        stat: place.stat,
        real: place.real,
        prefix: `${child.path}/`,
        names: listNames(place),
        next: 0,
      })
      kept = true
    } finally {
      if (!kept) place.close()
    }
    const far = this.#levels.at(-1 - MAX_OPEN)
    far?.place?.close()
    if (far !== undefined) far.place = undefined
  }

  #leave(): void {
    const done = this.#levels.pop()
    const above = this.#levels.at(-1)
    if (above !== undefined && above.place === undefined) above.place = done?.place && this.#reopen(done.place, above)
    done?.place?.close()
  }

  /** The way back up, if it still leads where we came from; else the rest of that directory is gone. */
  #reopen(from: Place, above: Level): Place | undefined {
    const place = ifThere(() => this.#resolver.open(from.child('..'), { follow: true, directory: true }))
    if (place === undefined || isSameFile(place.stat, above.stat)) return place
    place.close()
    return undefined
  }
}

function ifThere<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch (error) {
    const code = errnoOf(error)
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return undefined
    throw error
  }
}

function readTarget(at: string | Buffer): string {
  const text = readlinkSync(at)
  return isLossy(text) ? fromNativePath(readlinkSync(at, { encoding: 'buffer' })) : text
}
