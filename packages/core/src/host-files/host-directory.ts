import { basename, dirname } from 'node:path/posix'
import { lstatSync, unlinkSync } from 'node:fs'
import { clearTree } from './clear-tree.js'
import { errnoOf, mapFileError } from './map-error.js'
import { toNativePath } from './native-path.js'
import { choosePlaceOpener } from './place.js'
import { assertDirectory, PathResolver } from './resolve-path.js'
import { HostRoots } from './roots.js'
import type { HostRoot } from './roots.js'

/** A directory that was decided on. `self` means it for as long as it is open, in this process and in one it forks. */
export interface HostDirectory {
  readonly real: string
  readonly self: string
  close(): void
}

/**
 * Opens directories inside the roots, for something to be done in them, e.g. to start a program there. Made once and used
 * for many: links in the roots are resolved once.
 *
 * What it returns throws `path_escape`, `not_found`, `not_a_directory`, `path_denied`, `invalid_argument`.
 */
export function createDirectoryOpener(roots: readonly HostRoot[]): (path: string) => HostDirectory {
  const resolver = new PathResolver(choosePlaceOpener(), new HostRoots(roots, []))
  return (path) => {
    const place = resolver.existing(path, { follow: true, use: 'read' })
    try {
      assertDirectory(place, path)
      return { real: place.real, self: String(place.self), close: () => place.close() }
    } catch (error) {
      place.close()
      throw error
    }
  }
}

/**
 * Removes a file or a whole directory of the host's own, also what its permissions protect. Nothing is followed, and a mount
 * beneath it is `path_denied`. Absent is success. The entry `last` of it goes when all others are gone.
 */
export async function removeHostTree(path: string, options: { readonly last?: string } = {}): Promise<void> {
  const open = choosePlaceOpener()
  try {
    const directory = open(toNativePath(dirname(path)), { follow: true, directory: true })
    try {
      const name = basename(path)
      const stat = lstatSync(directory.child(name), { throwIfNoEntry: false })
      if (stat === undefined) return
      if (stat.isDirectory()) await clearTree({ open, directory, name, path, force: true, ...options })
      else unlinkSync(directory.child(name))
    } finally {
      directory.close()
    }
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return
    throw mapFileError(error, path)
  }
}
