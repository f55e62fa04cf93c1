import type { FileToWrite, FileType } from '../../contracts/files.js'
import { SandboxError } from '../../errors/sandbox-error.js'
import type { EntryPath, LocalDirEntry } from '../../manifest/entry.js'
import { joinEntryPath } from '../../manifest/list-entries.js'
import { compileIgnoreRules } from '../../match/ignore-rules.js'
import type { Filling } from '../filling.js'
import { makeWay, undoByRemoving } from '../make-way.js'
import { readHostTree } from '../read-host-tree.js'

/** With `merge`, the directory is there already and keeps what the source does not have. */
export async function* localDirSource(
  path: EntryPath,
  entry: LocalDirEntry,
  filling: Filling & { readonly merge: boolean },
): AsyncGenerator<readonly FileToWrite[]> {
  const host = await filling.host()
  const source = host.locate(entry.source)
  // With the dot it is the directory itself, also where the source is a link to one.
  const stat = await host.files.stat(`${source}/.`)
  if (stat === undefined) {
    throw new SandboxError('not_found', `entries.${path}: there is no ${source} on the host.`, { path: source })
  }
  const mode = entry.mode ?? (stat.type === 'directory' ? stat.mode & 0o777 : 0o755)
  if (!filling.merge || (entry.mode !== undefined && path !== '.')) yield [{ type: 'directory', path, mode }]
  if (path === '.' && entry.mode !== undefined) await filling.sandbox.files.chmod(filling.view.absolute(path), mode)
  const present = filling.merge ? new Set<string>([path]) : undefined
  const ignored = compileIgnoreRules(entry.exclude)
  const found = readHostTree(host.files, source, {
    exclude: (relative, type) => isExcluded(relative, type),
    onSpecial: (relative, type) => filling.emit(skipped(joinEntryPath(path, relative), type)),
    ...(filling.signal === undefined ? {} : { signal: filling.signal }),
  })
  for await (const group of found) {
    const placed = group.map((file) => ({ ...file, path: joinEntryPath(path, file.path) }))
    yield present === undefined ? placed : await settleAll(placed, present, filling)
  }

  function isExcluded(relative: string, type: FileType): boolean {
    if (ignored(relative, type === 'directory')) return true
    const place = joinEntryPath(path, relative)
    if (!filling.mounts.includes(place)) return false
    const reason = 'a bind mount lies there; exclude it from the local_dir'
    throw new SandboxError('path_denied', `entries.${path}: ${source}/${relative}: ${reason}.`, { path: place, reason })
  }
}

async function settleAll(
  group: readonly FileToWrite[],
  present: Set<string>,
  filling: Filling,
): Promise<readonly FileToWrite[]> {
  const written: FileToWrite[] = []
  for (const file of group) {
    if ((await settle(file.path, file.type, present, filling)) === 'write') written.push(file)
  }
  return written
}

/** Decides on one path of a directory that was there before: only what is above it may be known without looking. */
async function settle(
  place: string,
  type: FileToWrite['type'],
  present: Set<string>,
  filling: Filling,
): Promise<'write' | 'keep'> {
  const slash = place.lastIndexOf('/')
  if (!present.has(slash === -1 ? '.' : place.slice(0, slash))) return 'write'
  const existing = await filling.view.typeOf(place)
  if (existing === undefined) undoByRemoving(place, filling)
  else if (existing === 'directory' && type === 'directory') present.add(place)
  else await makeWay(place, filling)
  return present.has(place) ? 'keep' : 'write'
}

function skipped(path: string, type: FileType): Parameters<Filling['emit']>[0] {
  return { type: 'entry.skipped', path, kind: 'local_dir', reason: `a ${type} of the host cannot be copied` }
}
