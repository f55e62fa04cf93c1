import { chmodSync, lstatSync, rmdirSync, unlinkSync } from 'node:fs'
import { assertNotAborted } from '../errors/assert-not-aborted.js'
import { isSameFile } from './describe-stat.js'
import { listNames } from './list-names.js'
import { errnoOf, pathDenied } from './map-error.js'
import { mountPointsBeneath } from './mounts.js'
import { Pacer } from './pacer.js'
import { joinReal } from './resolve-path.js'
import type { Place, PlaceOpener } from './place.js'

const MAX_REFILLS = 100

export interface ClearTree {
  readonly open: PlaceOpener
  readonly directory: Place
  readonly name: string
  /** As it was asked for. */
  readonly path: string
  /** Make directories writable that forbid it. Default false. */
  readonly force?: boolean
  /** A name in it that goes when all others are gone. */
  readonly last?: string
  readonly signal?: AbortSignal
  /** Called between stretches; throws when it must not go on. */
  readonly beforeWrite?: () => void
}

interface Level {
  readonly name: string
  readonly stat: Place['stat']
  names: string[]
  /** How often somebody put something in while it was being emptied. */
  refills: number
}

/**
 * Removes a directory with all beneath it: nothing is followed, and nothing is touched when a mount point is beneath it. One
 * mounted meanwhile ends the removal before it is entered. Holds two descriptors however deep it is.
 */
export async function clearTree(request: ClearTree): Promise<void> {
  const real = joinReal(request.directory.real, request.name)
  const [mount] = mountPointsBeneath(real)
  if (mount !== undefined)
    throw pathDenied(request.path, `something is mounted beneath it, at ${mount}; unmount that first`)
  const removal = new TreeRemoval(request)
  const pacer = new Pacer()
  try {
    removal.start()
    while (removal.step()) {
      if (!pacer.due()) continue
      await pacer.rest()
      assertNotAborted(request.signal, 'files.remove')
      request.beforeWrite?.()
    }
  } finally {
    removal.close()
  }
}

class TreeRemoval {
  readonly #request: ClearTree
  readonly #levels: Level[] = []
  readonly #mountId: string
  /** Where we are: the directory whose entries are being removed. */
  #at: Place | undefined

  constructor(request: ClearTree) {
    this.#request = request
    this.#mountId = request.directory.mountId()
  }

  start(): void {
    this.#enter(this.#request.directory, this.#request.name)
  }

  /** Removes one entry, or enters or leaves a directory. False: everything is gone. */
  step(): boolean {
    const level = this.#levels.at(-1)
    const at = this.#at
    if (level === undefined || at === undefined) return false
    const name = level.names.pop()
    if (name === undefined) return this.#leave(level, at)
    const entry = at.child(name)
    const stat = lstatSync(entry, { throwIfNoEntry: false })
    if (stat === undefined) return true
    if (stat.isDirectory()) this.#enter(at, name)
    else ignoreMissing(() => unlinkSync(entry))
    return true
  }

  close(): void {
    this.#at?.close()
    this.#at = undefined
  }

  #enter(parent: Place, name: string): void {
    const place = this.#request.open(parent.child(name), { follow: false, directory: true })
    try {
      if (place.mountId() !== this.#mountId)
        throw pathDenied(this.#request.path, `something is mounted beneath it, at ${place.real}`)
      if (this.#request.force === true && (Number(place.stat.mode) & 0o700) !== 0o700) chmodSync(place.self, 0o700)
      this.#levels.push({ name, stat: place.stat, names: this.#namesOf(place, this.#levels.length), refills: 0 })
    } catch (error) {
      place.close()
      throw error
    }
    this.#at?.close()
    this.#at = place
  }

  #leave(level: Level, at: Place): boolean {
    if (this.#isRefilled(level, at)) return true
    this.#levels.pop()
    const above = this.#levels.at(-1)
    const parent = above === undefined ? this.#request.directory : this.#up(at, above)
    try {
      this.#removeEmptied(parent, level)
    } catch (error) {
      if (parent !== this.#request.directory) parent.close()
      throw error
    }
    at.close()
    this.#at = above === undefined ? undefined : parent
    return above !== undefined
  }

  #removeEmptied(parent: Place, level: Level): void {
    ignoreMissing(() => rmdirSync(parent.child(level.name)))
  }

  /** A process that is still running may be quicker than we are, for a while. */
  #isRefilled(level: Level, at: Place): boolean {
    level.names = this.#namesOf(at, this.#levels.length - 1)
    return level.names.length > 0 && ++level.refills < MAX_REFILLS
  }

  /** In the order in which they are popped, backwards. */
  #namesOf(place: Place, depth: number): string[] {
    const names = listNames(place)
    const { last } = this.#request
    if (depth > 0 || last === undefined || !names.includes(last)) return names
    return [last, ...names.filter((name) => name !== last)]
  }

  #up(from: Place, above: Level): Place {
    const place = this.#request.open(from.child('..'), { follow: true, directory: true })
    if (isSameFile(place.stat, above.stat)) return place
    place.close()
    throw pathDenied(this.#request.path, 'a directory in it was moved while it was being removed; try again')
  }
}

function ignoreMissing(act: () => void): void {
  try {
    act()
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
  }
}
