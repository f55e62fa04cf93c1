import type { FileType, SandboxFiles } from '../contracts/files.js'

import { isSandboxError, SandboxError } from '../errors/sandbox-error.js'

/**
 * What is in the workspace, asked for once per directory and kept up to date by who changes it. No link is followed: what
 * lies behind one is not in the workspace, as far as a manifest is concerned.
 */
export class WorkspaceView {
  readonly #files: SandboxFiles
  readonly #root: string
  /** Of directories that were listed, by path; `.` for the root. */
  readonly #listings: Map<string, Map<string, FileType>> = new Map()

  constructor(files: SandboxFiles, root: string) {
    this.#files = files
    this.#root = root
  }

  absolute(path: string): string {
    return path === '.' ? this.#root : `${this.#root}/${path}`
  }

  /** `undefined` when nothing is there. Throws `not_a_directory` when something else than directories is on the way. */
  async typeOf(path: string): Promise<FileType | undefined> {
    if (path === '.') return 'directory'
    const { parent, name } = splitPath(path)
    const listing = this.#listings.get(parent) ?? (await this.#list(parent))
    return listing?.get(name)
  }

  /** The directories above `path` that are not there, outermost first. */
  async missingParents(path: string): Promise<readonly string[]> {
    const missing: string[] = []
    for (let { parent } = splitPath(path); parent !== '.'; parent = splitPath(parent).parent) {
      if ((await this.typeOf(parent)) !== undefined) break
      missing.unshift(parent)
    }
    return missing
  }

  /** Something of this type is at `path` from now on; a directory is an empty one. */
  put(path: string, type: FileType): void {
    if (path === '.') return
    this.forget(path)
    const { parent, name } = splitPath(path)
    this.#listings.get(parent)?.set(name, type)
    if (type === 'directory') this.#listings.set(path, new Map())
  }

  /** Nothing is at `path` any more. */
  remove(path: string): void {
    this.forget(path)
    const { parent, name } = splitPath(path)
    this.#listings.get(parent)?.delete(name)
  }

  /** What lies beneath `path` has changed in ways unknown. */
  forget(path: string): void {
    for (const listed of this.#listings.keys()) {
      if (path === '.' || listed === path || listed.startsWith(`${path}/`)) this.#listings.delete(listed)
    }
  }

  async #list(directory: string): Promise<Map<string, FileType> | undefined> {
    const type = await this.typeOf(directory)
    if (type === undefined) return undefined
    if (type !== 'directory') {
      const path = this.absolute(directory)
      throw new SandboxError('not_a_directory', `${path} is a ${type}, so nothing can be put beneath it.`, { path })
    }
    const listing = new Map<string, FileType>()
    try {
      for await (const { name, type: child } of this.#files.list(this.absolute(directory))) listing.set(name, child)
    } catch (error) {
      if (!isSandboxError(error, 'not_found')) throw error
      return undefined
    }
    this.#listings.set(directory, listing)
    return listing
  }
}

function splitPath(path: string): { readonly parent: string; readonly name: string } {
  const slash = path.lastIndexOf('/')
  return slash === -1 ? { parent: '.', name: path } : { parent: path.slice(0, slash), name: path.slice(slash + 1) }
}
