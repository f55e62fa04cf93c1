import { lstatSync, readlinkSync } from 'node:fs'
import { normalize } from 'node:path/posix'
import { SandboxError } from '../errors/sandbox-error.js'
import { pathComponents, quotePath, unusable } from '../path/path-components.js'
import { errnoOf, mapFileError, notADirectory, pathDenied, pathEscape } from './map-error.js'
import { fromNativePath, toNativePath } from './native-path.js'
import type { Place, PlaceOpener } from './place.js'
import type { HostRoots } from './roots.js'

/** A path as it was asked for, checked. */
interface AskedPath {
  readonly text: string
  readonly components: readonly string[]
  /** A slash or dot at the end: it must be a directory, and a link is followed. */
  readonly asDirectory: boolean
}

/** A name in a directory that may be used. `directory` is to be closed. */
export interface EntryPlace {
  readonly directory: Place
  readonly name: string
}

/** Where a file is to be written: over something, or under a name that is free. Both are to be closed. */
export interface WriteTarget {
  readonly existing: Place | undefined
  /** Undefined where only the file itself is allowed and nothing around it. */
  readonly entry: EntryPlace | undefined
}

/** As in Linux. */
const MAX_LINKS = 40
/** How often a path may change under our feet before we give up. */
const MAX_ATTEMPTS = 16

/** How far a walk came: to its end, or to where the system said no. */
type Walk =
  | { readonly place: Place }
  | { readonly failed: unknown; readonly directory: Place; readonly name: string; readonly rest: readonly string[] }

/**
 * Turns paths into places inside the roots.
 *
 * A path is resolved by the kernel in one step, and the decision is made on where it led. When the kernel says no, a second,
 * slow walk finds out where it was when it said so; only its answer is used, so that what is outside looks the same whether
 * it exists or not.
 */
export class PathResolver {
  readonly open: PlaceOpener
  readonly roots: HostRoots

  constructor(open: PlaceOpener, roots: HostRoots) {
    this.open = open
    this.roots = roots
  }

  /** What is there. Throws `not_found`, `path_escape`, … */
  existing(path: string, how: { readonly follow: boolean; readonly use: 'read' | 'write' }): Place {
    const asked = parse(path)
    const follow = how.follow || asked.asDirectory
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const place = this.#tryOpen(asked, follow) ?? this.#walkTo(asked, follow)
      if (place === undefined) continue
      return this.#admitted(place, asked, how.use)
    }
    throw keepsChanging(path)
  }

  /** The same, undefined when it is confirmed that nothing is there. */
  find(path: string, how: { readonly follow: boolean; readonly use: 'read' | 'write' }): Place | undefined {
    try {
      return this.existing(path, how)
    } catch (error) {
      if (error instanceof SandboxError && error.code === 'not_found') return undefined
      throw error
    }
  }

  /** The directory that holds the name at the end of a path; for what is done to names and does not follow them. */
  entry(path: string, use: 'read' | 'write'): EntryPlace {
    const { components, asDirectory } = parse(path)
    const name = components.at(-1)
    if (name === undefined || name === '..') {
      // Outside comes before anything else that may be said of it.
      this.existing(path, { follow: true, use }).close()
      throw unusable('path', `${quotePath(path)} does not end in a name`)
    }
    const parent = `/${components.slice(0, -1).join('/')}`
    if (this.roots.isRoot(normalize(`/${components.join('/')}`)))
      throw pathDenied(path, 'it is an allowed directory itself')
    const directory = this.#parentOf(parent, path, use)
    const real = joinReal(directory.real, name)
    if (this.roots.isRoot(real) || this.roots.isHidden(real)) {
      directory.close()
      if (this.roots.isHidden(real)) throw pathEscape(path)
      throw pathDenied(path, 'it is an allowed directory itself')
    }
    if (asDirectory && lstatSync(directory.child(name), { throwIfNoEntry: false })?.isDirectory() === false) {
      directory.close()
      throw notADirectory(path)
    }
    return { directory, name }
  }

  /** Where a write to a path goes: links are followed, also one that leads to a name that is free. */
  writeTarget(path: string): WriteTarget {
    const asked = parse(path)
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const place = this.#tryOpen(asked, true)
      if (place !== undefined) {
        const target = this.#around(this.#admitted(place, asked, 'write'), path)
        if (target !== undefined) return target
        continue
      }
      if (asked.asDirectory) throw unusable('path', `${quotePath(path)} ends like a directory`)
      const entry = this.#freeName(asked)
      if (entry !== undefined) return { existing: undefined, entry }
    }
    throw keepsChanging(path)
  }

  #parentOf(parent: string, path: string, use: 'read' | 'write'): Place {
    const asked = { text: path, components: parent.split('/').filter(Boolean), asDirectory: true }
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const place = this.#tryOpen(asked, true) ?? this.#walkTo(asked, true)
      if (place !== undefined) return this.#admitted(place, asked, use)
    }
    throw keepsChanging(path)
  }

  #tryOpen(asked: AskedPath, follow: boolean): Place | undefined {
    try {
      const path = toNativePath(`/${asked.components.join('/')}`)
      return this.open(path, { follow, directory: asked.asDirectory })
    } catch (error) {
      if (errnoOf(error) === undefined) throw error
      return undefined
    }
  }

  #admitted(place: Place, asked: AskedPath, use: 'read' | 'write'): Place {
    try {
      this.roots.admit(place.real, asked.text, use)
      return place
    } catch (error) {
      place.close()
      throw error
    }
  }

  /** The directory around a file that exists, so that it can be replaced. Undefined: it has moved meanwhile. */
  #around(existing: Place, path: string): WriteTarget | undefined {
    const slash = existing.real.lastIndexOf('/')
    const parent = existing.real.slice(0, slash) || '/'
    const name = existing.real.slice(slash + 1)
    if (this.roots.find(parent) === undefined || name === '') return { existing, entry: undefined }
    let directory: Place | undefined
    try {
      directory = this.open(toNativePath(parent), { follow: true, directory: true })
      this.roots.admit(directory.real, path, 'write')
      return { existing, entry: { directory, name } }
    } catch (error) {
      directory?.close()
      existing.close()
      if (errnoOf(error) === undefined) throw error
      return undefined
    }
  }

  /** The free name that a path means. Undefined: it is not free any more. */
  #freeName(asked: AskedPath): EntryPlace | undefined {
    const quick = this.#freeNameInParent(asked)
    if (quick !== undefined) return quick
    const walk = this.#walk(asked, true)
    if ('place' in walk) {
      walk.place.close()
      return undefined
    }
    if (errnoOf(walk.failed) === 'ENOENT' && walk.rest.length === 0) {
      const directory = this.#admitted(walk.directory, asked, 'write')
      if (this.roots.find(joinReal(directory.real, walk.name)) !== undefined) return { directory, name: walk.name }
      directory.close()
      throw pathEscape(asked.text)
    }
    throw this.#explain(walk, asked)
  }

  #freeNameInParent(asked: AskedPath): EntryPlace | undefined {
    const name = asked.components.at(-1)
    if (name === undefined || name === '..') return undefined
    const parent = { ...asked, components: asked.components.slice(0, -1), asDirectory: true }
    const directory = this.#tryOpen(parent, true)
    if (directory === undefined) return undefined
    const free = lstatSync(directory.child(name), { throwIfNoEntry: false }) === undefined
    if (!free || this.roots.find(joinReal(directory.real, name)) === undefined) {
      directory.close()
      return undefined
    }
    return { directory: this.#admitted(directory, asked, 'write'), name }
  }

  /** The slow way. Throws what is to be said; undefined when it came through where the kernel did not: somebody changed it. */
  #walkTo(asked: AskedPath, follow: boolean): undefined {
    const walk = this.#walk(asked, follow)
    if (!('place' in walk)) throw this.#explain(walk, asked)
    walk.place.close()
    return undefined
  }

  #explain(walk: Exclude<Walk, { place: Place }>, asked: AskedPath): unknown {
    const { directory, name, rest } = walk
    directory.close()
    const wanted = normalize([directory.real, name, ...rest].join('/'))
    // A root that is missing itself is beneath something outside: its name says that it is meant.
    const inside = this.roots.find(joinReal(directory.real, name)) ?? this.roots.find(wanted)
    return inside === undefined ? pathEscape(asked.text) : mapFileError(walk.failed, asked.text)
  }

  /** Component by component, links by their text, holding two descriptors at most. The directory it returns is open. */
  #walk(asked: AskedPath, follow: boolean): Walk {
    let at = this.open('/', { follow: true, directory: true })
    let todo = [...asked.components]
    let links = 0
    for (;;) {
      const name = todo.shift()
      if (name === undefined) return { place: at }
      const isLast = todo.length === 0
      let next: Place | undefined
      try {
        next = this.open(at.child(name), { follow: name === '..' })
        if (next.stat.isSymbolicLink() && (!isLast || follow)) {
          const target = fromNativePath(readlinkSync(at.child(name), { encoding: 'buffer' }))
          next.close()
          if (++links > MAX_LINKS) throw systemSays('ELOOP')
          todo = [...target.split('/').filter((part) => part !== '' && part !== '.'), ...todo]
          if (!target.startsWith('/')) continue
          at.close()
          at = this.open('/', { follow: true, directory: true })
          continue
        }
        if ((!isLast || asked.asDirectory) && !next.stat.isDirectory()) throw systemSays('ENOTDIR')
      } catch (failed) {
        next?.close()
        if (errnoOf(failed) === undefined) {
          at.close()
          throw failed
        }
        return { failed, directory: at, name, rest: todo }
      }
      at.close()
      at = next
    }
  }
}

/** `/a` and `b` are `/a/b`; `/` and `b` are `/b`. */
export function joinReal(directory: string, name: string): string {
  return directory === '/' ? `/${name}` : `${directory}/${name}`
}

/** Throws unless the path is absolute and one that a file system could hold. */
function parse(path: string): AskedPath {
  const components = pathComponents(path, 'path')
  if (!path.startsWith('/')) throw unusable('path', `${quotePath(path)} is relative; give an absolute one`)
  return { text: path, components, asDirectory: components.length === 0 || path.endsWith('/') || path.endsWith('/.') }
}

function systemSays(code: string): Error {
  return Object.assign(new Error(code), { code, syscall: 'open' })
}

function keepsChanging(path: string): SandboxError {
  return pathDenied(path, 'it is being changed faster than it can be resolved')
}

/** Throws `not_a_directory` unless it is one. */
export function assertDirectory(place: Place, path: string): void {
  if (!place.stat.isDirectory()) throw notADirectory(path)
}
