import { realpathSync } from 'node:fs'
import { resolve } from 'node:path/posix'
import { fromNativePath, toNativePath } from './native-path.js'
import { pathEscape, readOnly } from './map-error.js'

/** A directory or file of the host that may be used. */
export interface HostRoot {
  /** Absolute. Links in it are resolved once. */
  readonly path: string
  readonly readOnly: boolean
  /** Reached only by paths that begin with it as written: never through a link in another root. Default false. */
  readonly direct?: boolean
}

/** Which real paths may be used. The innermost root decides; what is hidden counts as outside. */
export class HostRoots {
  readonly #roots: {
    readonly asked: string
    readonly readOnly: boolean
    readonly direct: boolean
    real: string | undefined
  }[]
  readonly #hidden: { readonly asked: string; real: string | undefined }[]

  constructor(roots: readonly HostRoot[], hidden: readonly string[]) {
    this.#roots = roots.map(({ path, readOnly, direct = false }) => {
      return { asked: resolve(path), readOnly, direct, real: undefined }
    })
    this.#hidden = hidden.map((path) => ({ asked: resolve(path), real: undefined }))
  }

  /** The root that holds a real path. */
  find(real: string): HostRoot | undefined {
    if (this.isHidden(real)) return undefined
    let found: HostRoot | undefined
    for (const root of this.#roots) {
      const path = realOf(root)
      if (!isWithin(real, path)) continue
      if (found === undefined || path.length > found.path.length) {
        found = { path, readOnly: root.readOnly, direct: root.direct }
      }
    }
    return found
  }

  /** Throws `path_escape`, and with `write` also `read_only`. */
  admit(real: string, asked: string, use: 'read' | 'write'): HostRoot {
    const root = this.find(real)
    if (root === undefined || (root.direct === true && !this.#beginsIn(asked, root.path))) throw pathEscape(asked)
    if (use === 'write' && root.readOnly) throw readOnly(asked)
    return root
  }

  /** Whether a path as written begins with that root. A relative one lies beneath a directory that was admitted itself. */
  #beginsIn(asked: string, real: string): boolean {
    if (!asked.startsWith('/')) return true
    return this.#roots.some((root) => realOf(root) === real && (isWithin(asked, root.asked) || isWithin(asked, real)))
  }

  isRoot(real: string): boolean {
    return this.#roots.some((root) => realOf(root) === real)
  }

  isHidden(real: string): boolean {
    return this.#hidden.some((hidden) => isWithin(real, realOf(hidden)))
  }

  /** Whether something beneath `real` is another root or hidden, so that it must not go with it. */
  holdsOthers(real: string): boolean {
    return [...this.#roots, ...this.#hidden].some((other) => realOf(other) !== real && isWithin(realOf(other), real))
  }
}

/** Looked up until it is there: a root may be made after the files were. */
function realOf(root: { readonly asked: string; real: string | undefined }): string {
  if (root.real !== undefined) return root.real
  try {
    return (root.real = fromNativePath(realpathSync.native(toNativePath(root.asked), { encoding: 'buffer' })))
  } catch {
    return root.asked
  }
}

/** Whether a real path is `root` or beneath it: `/ab` is not in `/a`. */
export function isWithin(real: string, root: string): boolean {
  if (!real.startsWith(root)) return false
  return real.length === root.length || root === '/' || real.charCodeAt(root.length) === 0x2f
}
