import { parseRelativePath } from '../path/relative-path.js'

/** The mounts beneath a workspace, as a restore has to see them. */
export class KeptPaths {
  readonly #kept: ReadonlySet<string>
  readonly #above: ReadonlySet<string>
  readonly paths: readonly string[]

  /** Throws `path_escape`, `invalid_argument`. */
  constructor(keep: readonly string[]) {
    this.paths = keep.map((path) => parseRelativePath(path, 'kept path'))
    this.#kept = new Set(this.paths)
    this.#above = new Set(this.paths.flatMap(parentsOf))
  }

  /** Neither removed nor replaced, with all beneath. */
  isKept(path: string): boolean {
    return this.#kept.has(path)
  }

  /** Something beneath is kept: what else is in there is dealt with one by one. */
  isAbove(path: string): boolean {
    return this.#above.has(path) && !this.#kept.has(path)
  }

  /** Directories on the way to what is kept, parents first. */
  get above(): readonly string[] {
    return [...this.#above].filter((path) => !this.#kept.has(path)).sort((a, b) => a.length - b.length)
  }
}

function parentsOf(path: string): string[] {
  const parents: string[] = []
  for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1))
    parents.push(path.slice(0, slash))
  return parents
}
