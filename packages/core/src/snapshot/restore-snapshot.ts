import type { FileToWrite } from '../contracts/files.js'
import type { Sandbox } from '../contracts/sandbox.js'
import { assertNotAborted } from '../errors/assert-not-aborted.js'
import { failpoint } from '../failpoint.js'
import { parentPath } from '../path/relative-path.js'
import type { RelativePath } from '../path/relative-path.js'
import { applyJournal, notADirectory } from './apply-journal.js'
import { KeptPaths } from './kept-paths.js'
import { removeIfThere } from './remove-if-there.js'
import { findJournal, restoreFolder, stagedTree, writeJournal } from './restore-journal.js'
import type { JournalDirectory, RestoreJournal } from './restore-journal.js'
import { createStamp } from './snapshot-id.js'

export interface RestoreRequest {
  readonly snapshot: string
  /** Parents first. Ends well only when all of it is verified. */
  readonly entries: AsyncIterable<FileToWrite>
  readonly keep: readonly string[]
  readonly nowMs: number
  readonly signal: AbortSignal | undefined
}

/**
 * Makes the workspace what `entries` say. Until the journal is written the workspace is untouched and everything can be
 * undone; from then on it can only be finished, here or by {@link recoverRestore}, and `signal` is no longer heeded.
 */
export async function restoreSnapshot(sandbox: Sandbox, request: RestoreRequest): Promise<void> {
  const { snapshot, nowMs, signal } = request
  const kept = new KeptPaths(request.keep)
  const staging = createStamp(nowMs)
  const folder = `${restoreFolder(sandbox)}/${staging}`
  let journal: RestoreJournal
  try {
    await makeFolder(sandbox, restoreFolder(sandbox))
    await sandbox.files.mkdir(folder, { mode: 0o700 })
    await sandbox.files.mkdir(stagedTree(sandbox, staging), { mode: 0o700 })
    failpoint('snapshot.restore.begun')
    const directories = await stage(sandbox, { ...request, staging, kept })
    failpoint('snapshot.restore.staged')
    await checkWayToKept(sandbox, kept, staging)
    assertNotAborted(signal, 'restoring a snapshot')
    // This replaces the journal of an earlier restore that died, if there is one: that one need not be finished any more.
    journal = { version: 1, snapshot, staging, phase: 'clear', keep: kept.paths, directories }
    await writeJournal(sandbox, journal)
  } catch (error) {
    await discard(sandbox, folder)
    throw error
  }
  failpoint('snapshot.restore.noted')
  await applyJournal(sandbox, journal)
  await removeIfThere(sandbox.files, restoreFolder(sandbox))
}

/** `finished`: the workspace is the snapshot. `undone`: it was not touched, and what was staged is gone. */
export async function recoverRestore(sandbox: Sandbox): Promise<'nothing' | 'finished' | 'undone'> {
  const folder = restoreFolder(sandbox)
  const stat = await sandbox.files.stat(folder)
  if (stat === undefined) return 'nothing'
  const journal = stat.type === 'directory' ? await findJournal(sandbox) : undefined
  if (journal !== undefined) await applyJournal(sandbox, journal)
  const isEmpty = journal === undefined && stat.type === 'directory' && (await hasNothing(sandbox, folder))
  await removeIfThere(sandbox.files, folder)
  if (journal !== undefined) return 'finished'
  return isEmpty ? 'nothing' : 'undone'
}

interface StageRequest extends RestoreRequest {
  readonly staging: string
  readonly kept: KeptPaths
}

/**
 * Writes everything into the staging folder and returns the directories that must wait for the end. Directories stay open
 * to their owner while they are filled and moved: a directory that one may not write to can be neither. Their times are
 * set when nothing changes in them any more.
 */
async function stage(sandbox: Sandbox, request: StageRequest): Promise<JournalDirectory[]> {
  const { entries, staging, kept, signal } = request
  const options = signal === undefined ? {} : { signal }
  const tree = stagedTree(sandbox, staging)
  const directories: JournalDirectory[] = []
  await sandbox.files.writeMany(opened(entries, directories), tree, options)
  failpoint('snapshot.restore.written')
  const settled = directories.filter(({ path }) => !kept.isAbove(path)).map(openDirectory)
  await sandbox.files.writeMany(settled, tree, options)
  const closed = directories.filter(({ path, mode }) => !kept.isAbove(path) && !isOpen(mode))
  for (const { path, mode } of closed.filter((each) => !isMoved(each.path, kept)).toReversed()) {
    await sandbox.files.chmod(`${tree}/${path}`, mode)
  }
  return directories.filter(({ path, mode }) => kept.isAbove(path) || (!isOpen(mode) && isMoved(path, kept)))
}

async function* opened(
  entries: AsyncIterable<FileToWrite>,
  directories: JournalDirectory[],
): AsyncGenerator<FileToWrite, void, undefined> {
  for await (const entry of entries) {
    failpoint('snapshot.restore.writing')
    if (entry.type !== 'directory') {
      yield entry
      continue
    }
    const directory = { path: entry.path, mode: entry.mode, mtimeNs: entry.mtimeNs ?? 0n }
    directories.push(directory)
    yield openDirectory(directory)
  }
}

const OWNER = 0o700

function openDirectory({ path, mode, mtimeNs }: JournalDirectory): FileToWrite {
  return { type: 'directory', path, mode: mode | OWNER, mtimeNs }
}

function isOpen(mode: number): boolean {
  return (mode & OWNER) === OWNER
}

/** Whether it is renamed by itself, not with a directory that holds it. */
function isMoved(path: string, kept: KeptPaths): boolean {
  const parent = parentPath(path as RelativePath)
  return parent === undefined || kept.isAbove(parent)
}

/** A file or link where a directory must lead to a mount, in the workspace or in the snapshot. Throws `path_denied`. */
async function checkWayToKept(sandbox: Sandbox, kept: KeptPaths, staging: string): Promise<void> {
  for (const path of kept.above) {
    for (const root of [sandbox.paths.workspace, stagedTree(sandbox, staging)]) {
      const stat = await sandbox.files.stat(`${root}/${path}`)
      if (stat !== undefined && stat.type !== 'directory') throw notADirectory(path)
    }
  }
}

/** What is not a directory there was put there by somebody else, and is not followed. */
async function makeFolder({ files }: Sandbox, path: string): Promise<void> {
  const stat = await files.stat(path)
  if (stat?.type === 'directory') return
  if (stat !== undefined) await files.remove(path)
  await files.mkdir(path, { mode: 0o700 })
}

async function hasNothing({ files }: Sandbox, folder: string): Promise<boolean> {
  for await (const _ of files.list(folder)) return false
  return true
}

/** What went wrong before is what matters; what stays here is removed by the next `recover`. */
async function discard({ files }: Sandbox, folder: string): Promise<void> {
  await removeIfThere(files, folder).catch(() => undefined)
}
