import type { SandboxFiles } from '../contracts/files.js'
import { isSandboxError } from '../errors/sandbox-error.js'

const OWNER = 0o700

/**
 * Removes it with all beneath; absence is what is wanted. Directories that their owner may not write to (package caches
 * have them) are opened first where that is what it takes. Throws `path_denied` when a mount lies there.
 */
export async function removeIfThere(files: SandboxFiles, path: string): Promise<void> {
  try {
    await remove(files, path)
  } catch (error) {
    if (!isSandboxError(error, 'path_denied')) throw error
    // A mount refuses as well, and again after this.
    if (!(await openDirectories(files, path))) throw error
    await remove(files, path)
  }
}

async function remove(files: SandboxFiles, path: string): Promise<void> {
  try {
    await files.remove(path, { recursive: true })
  } catch (error) {
    if (!isSandboxError(error, 'not_found')) throw error
  }
}

/**
 * Lets the owner into every directory that holds something, and tells whether there was one to open. A mount is listed
 * without what it holds, so that its own mode is never changed.
 */
async function openDirectories(files: SandboxFiles, root: string): Promise<boolean> {
  const stat = await files.stat(root)
  if (stat?.type !== 'directory') return false
  const closed = new Map<string, number>()
  const note = (path: string, mode: number): void => void ((mode & OWNER) === OWNER || closed.set(path, mode))
  let opened = false
  note(root, stat.mode)
  for await (const entry of files.tree(root)) {
    const path = `${root}/${entry.path}`
    const parent = path.slice(0, path.lastIndexOf('/'))
    const mode = closed.get(parent)
    if (mode !== undefined) {
      await files.chmod(parent, mode | OWNER)
      closed.delete(parent)
      opened = true
    }
    if (entry.type === 'directory') note(path, entry.mode)
  }
  return opened
}
