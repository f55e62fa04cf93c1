import { encodePath } from '@cofferdam/core/path'
import type { MemoryProcess } from '../process/memory-process.js'
import { FileDescription, NULL_DEVICE } from '../process/open-file.js'
import type { OpenFile } from '../process/open-file.js'
import { PosixError } from '../tree/posix-error.js'
import { expandText } from './expand.js'
import type { ShellContext } from './shell-context.js'
import type { Redirect } from './syntax.js'

/** Runs something with its descriptors redirected, and puts them back. A file that cannot be opened is status 1. */
export async function withRedirects(
  shell: ShellContext,
  redirects: readonly Redirect[],
  run: () => Promise<void>,
): Promise<void> {
  if (redirects.length === 0) return run()
  const saved = new Map<number, OpenFile | undefined>()
  try {
    if (await applyRedirects(shell, redirects, saved)) await run()
    else shell.status = 1
  } finally {
    restore(shell.process, saved)
  }
}

/** Redirects for good, as `exec` does. False when one could not be opened; the shell has said so. */
export async function applyRedirects(
  shell: ShellContext,
  redirects: readonly Redirect[],
  saved: Map<number, OpenFile | undefined>,
): Promise<boolean> {
  const { process } = shell
  for (const redirect of redirects) {
    const target = await expandText(redirect.target, shell)
    if (!saved.has(redirect.fd)) {
      const old = process.files.get(redirect.fd)
      old?.retain()
      saved.set(redirect.fd, old)
    }
    try {
      redirectOne(process, redirect, target)
    } catch (error) {
      if (!(error instanceof PosixError)) throw error
      await shell.complain(
        `cannot ${redirect.operator.startsWith('<') ? 'open' : 'create'} ${target}: ${error.message}`,
      )
      return false
    }
  }
  return true
}

function redirectOne(process: MemoryProcess, redirect: Redirect, target: string): void {
  const { fd, operator } = redirect
  if (operator === '<&' || operator === '>&') {
    if (target === '-') return process.closeFile(fd)
    const file = process.files.get(Number(target))
    if (file === undefined) throw new PosixError('EINVAL')
    process.setFile(fd, file)
  } else if (operator === '<<') {
    const file = process.tree.newFile(0o600)
    process.tree.writeAt(file, 0, encodePath(target))
    process.setFile(fd, new FileDescription(process.tree, file, false))
  } else process.setFile(fd, openFile(process, target, operator))
}

/** Opens a file for a command: `<` reads, `>` empties or makes it, `>>` goes on at its end. */
export function openFile(process: MemoryProcess, path: string, how: '<' | '>' | '>>'): OpenFile {
  if (path === '/dev/null') return NULL_DEVICE
  const { tree } = process
  const place = tree.walk(path, { from: process.directory })
  if (place.node?.type === 'directory') throw new PosixError('EISDIR')
  if (place.node?.type === 'symlink') throw new PosixError('ELOOP')
  if (place.node === undefined && how === '<') throw new PosixError('ENOENT')
  const file = place.node ?? tree.newFile(0o644)
  if (place.node === undefined) tree.add(place.parent, place.name, file)
  else if (how === '>') tree.truncate(file)
  return new FileDescription(tree, file, how === '>>')
}

function restore(process: MemoryProcess, saved: ReadonlyMap<number, OpenFile | undefined>): void {
  for (const [fd, file] of saved) {
    // A process that ended meanwhile has no descriptors any more.
    if (process.death === null) {
      if (file === undefined) process.closeFile(fd)
      else process.setFile(fd, file)
    }
    file?.release()
  }
}
