import { canonicalPathText, MAX_COMPONENT_BYTES, MAX_PATH_BYTES, pathByteLength } from '@cofferdam/core/path'
import { argumentError, errnoError, pathError } from './file-errors.js'
import type { Machine } from './process/machine.js'
import { isWithin } from './tree/nodes.js'
import type { DirNode, Node } from './tree/nodes.js'
import { WalkError } from './tree/walk.js'
import type { Place } from './tree/walk.js'

export interface FindOptions {
  readonly operation: string
  readonly follow: boolean
  /** `here` (default): the last component may be missing. `anywhere`: one on the way too, which is a place without a node. */
  readonly missing?: 'here' | 'anywhere'
  /** A directory outside is let through: the way goes on. */
  readonly outside?: boolean
}

/** Finds where paths lead and decides, on what was found, whether that is inside. */
export class FilePlaces {
  readonly #machine: Machine

  constructor(machine: Machine) {
    this.#machine = machine
  }

  /** Throws `path_escape` for what lies outside, there or not; `not_found` where a directory on the way is missing. */
  find(path: string, options: FindOptions): Place {
    const place = this.#walk(path, options)
    const inside = this.#isInside(place)
    if (!inside && !(options.outside === true && place.node?.type === 'directory')) {
      throw pathError('path_escape', path, options.operation)
    }
    return place
  }

  isRoot(node: Node | undefined): boolean {
    return node === this.#machine.workspace || node === this.#machine.control
  }

  #walk(path: string, options: FindOptions): Place {
    const text = checkedPath(path)
    try {
      return this.#machine.tree.walk(text, { follow: options.follow })
    } catch (error) {
      if (!(error instanceof WalkError)) throw error
      if (!this.#isAllowed(error.at)) throw pathError('path_escape', path, options.operation)
      if (error.errno === 'ENOENT' && options.missing === 'anywhere')
        return { parent: error.at, name: '', node: undefined }
      throw errnoError(error.errno, path, options.operation)
    }
  }

  #isInside(place: Place): boolean {
    if (place.node?.type === 'directory' && this.#isAllowed(place.node)) return true
    return this.#isAllowed(place.parent)
  }

  #isAllowed(directory: DirNode): boolean {
    return isWithin(directory, this.#machine.workspace) || isWithin(directory, this.#machine.control)
  }
}

function checkedPath(path: string): string {
  if (!path.startsWith('/')) throw argumentError('path', `${JSON.stringify(path)} is not absolute`)
  if (path.includes('\0')) throw argumentError('path', 'it holds a NUL')
  // Throws for surrogates that stand for no byte.
  if (pathByteLength(path) > MAX_PATH_BYTES) throw argumentError('path', `it is longer than ${MAX_PATH_BYTES} bytes`)
  if (path.length > MAX_COMPONENT_BYTES / 4) {
    const long = path.split('/').some((component) => pathByteLength(component) > MAX_COMPONENT_BYTES)
    if (long) throw argumentError('path', `a name in it is longer than ${MAX_COMPONENT_BYTES} bytes`)
  }
  return canonicalPathText(path)
}
