import { SandboxError } from '../../errors/sandbox-error.js'
import type { EntryPath, GitRepoEntry } from '../../manifest/entry.js'
import { joinEntryPath } from '../../manifest/list-entries.js'
import type { Filling } from '../filling.js'
import { makeWay, undoByRemoving } from '../make-way.js'
import { cloneInSandbox } from './git-clone.js'
import { copyHostRepository } from './git-host-copy.js'

/**
 * Clones into the control folder, then moves the result into place: a clone that fails half-way is never seen, and a
 * subpath needs no second look at the rest. With `merge`, the directory is there already.
 */
export async function applyGitRepo(
  path: EntryPath,
  entry: GitRepoEntry,
  filling: Filling & { readonly merge: boolean },
): Promise<void> {
  const clone = await filling.staging()
  const url = entry.path === undefined ? entry.url! : await copyHostRepository(path, entry.path, filling)
  await cloneInSandbox({ path, entry, url, into: clone }, filling)
  const brought = entry.subpath === undefined ? clone : await subdirectory(clone, entry, path, filling)
  await evenModes(brought, filling)
  await move(brought, { path, entry, filling })
}

async function subdirectory(clone: string, entry: GitRepoEntry, path: string, filling: Filling): Promise<string> {
  const { files } = filling.sandbox
  let at = clone
  for (const name of entry.subpath!.split('/')) {
    at = `${at}/${name}`
    const stat = await files.stat(at)
    if (stat?.type === 'directory' && name !== '.git') continue
    const message = `entries.${path}: the repository has no directory ${entry.subpath}.`
    throw new SandboxError('not_found', message, { path: entry.subpath! })
  }
  return at
}

/** git makes files by the umask of its process; a manifest does not know umasks. */
async function evenModes(directory: string, { sandbox, signal }: Filling): Promise<void> {
  const tree = sandbox.files.tree(directory, {
    exclude: (path) => path === '.git',
    ...(signal === undefined ? {} : { signal }),
  })
  for await (const { path, type, mode } of tree) {
    if (type !== 'file' && type !== 'directory') continue
    const even = type === 'directory' || (mode & 0o100) !== 0 ? 0o755 : 0o644
    if (mode !== even) await sandbox.files.chmod(`${directory}/${path}`, even)
  }
}

interface Moving {
  readonly path: EntryPath
  readonly entry: GitRepoEntry
  readonly filling: Filling & { readonly merge: boolean }
}

async function move(from: string, { path, entry, filling }: Moving): Promise<void> {
  const { view, sandbox } = filling
  const to = view.absolute(path)
  if (!filling.merge) {
    await sandbox.files.chmod(from, entry.mode)
    await sandbox.files.rename(from, to)
    return
  }
  for await (const { name } of sandbox.files.list(from)) {
    const place = joinEntryPath(path, name)
    if (filling.mounts.some((mount) => mount === place || mount.startsWith(`${place}/`))) throw mounted(path, place)
    if ((await view.typeOf(place)) === undefined) undoByRemoving(place, filling)
    else await makeWay(place, filling)
    await sandbox.files.rename(`${from}/${name}`, `${to}/${name}`)
  }
}

function mounted(path: string, place: string): SandboxError {
  const reason = 'a bind mount lies there; mount it elsewhere'
  return new SandboxError('path_denied', `entries.${path}: ${place}: ${reason}.`, { path: place, reason })
}
