import type { SandboxFiles } from '../contracts/files.js'
import type { Sandbox } from '../contracts/sandbox.js'
import { isSandboxError, SandboxError } from '../errors/sandbox-error.js'
import { failpoint } from '../failpoint.js'
import { KeptPaths } from './kept-paths.js'
import { removeIfThere } from './remove-if-there.js'
import { removeJournal, restoreFolder, stagedTree, writeJournal } from './restore-journal.js'
import type { JournalDirectory, RestoreJournal } from './restore-journal.js'
import { snapshotCorrupt } from './snapshot-corrupt.js'

/**
 * Does what the journal says, wherever an earlier attempt stopped, and removes staging folder and journal. There is no
 * signal: once begun, the only way back to a whole workspace is forward.
 *
 * A mount that nobody named makes `files.remove` refuse (`path_denied`). The journal stays then, and the next attempt goes
 * on when the mount is gone or named.
 */
export async function applyJournal(sandbox: Sandbox, journal: RestoreJournal): Promise<void> {
  await checkStaging(sandbox, journal)
  const work = new ApplyWork(sandbox, journal)
  if (journal.phase === 'clear') {
    await work.clear('')
    failpoint('snapshot.apply.cleared')
    await writeJournal(sandbox, { ...journal, phase: 'move' })
    failpoint('snapshot.apply.clearedNoted')
  }
  await work.move('')
  failpoint('snapshot.apply.moved')
  for (const directory of journal.directories.toReversed()) await work.finishDirectory(directory)
  failpoint('snapshot.apply.directories')
  await removeIfThere(sandbox.files, `${restoreFolder(sandbox)}/${journal.staging}`)
  failpoint('snapshot.apply.unstaged')
  await removeJournal(sandbox)
  failpoint('snapshot.apply.done')
}

/** Before anything is removed: what will take its place is really there, and not a link to something else. */
async function checkStaging(sandbox: Sandbox, { snapshot, staging, phase }: RestoreJournal): Promise<void> {
  const tree = stagedTree(sandbox, staging)
  for (const path of [restoreFolder(sandbox), `${restoreFolder(sandbox)}/${staging}`, tree]) {
    const type = (await sandbox.files.stat(path))?.type
    if (type === 'directory') continue
    // Gone is what it is at the end, when only the journal is left.
    if (type === undefined && phase === 'move') return
    throw snapshotCorrupt(snapshot, path, type === undefined ? 'it is gone' : `it is a ${type} instead of a directory`)
  }
}

class ApplyWork {
  readonly #files: SandboxFiles
  readonly #workspace: string
  readonly #staged: string
  readonly #kept: KeptPaths

  constructor(sandbox: Sandbox, journal: RestoreJournal) {
    this.#files = sandbox.files
    this.#workspace = sandbox.paths.workspace
    this.#staged = stagedTree(sandbox, journal.staging)
    this.#kept = new KeptPaths(journal.keep)
  }

  async clear(within: string): Promise<void> {
    for (const { name, type } of await namesIn(this.#files, `${this.#workspace}/${within}`)) {
      const path = `${within}${name}`
      if (this.#kept.isKept(path)) continue
      if (!this.#kept.isAbove(path)) await removeIfThere(this.#files, `${this.#workspace}/${path}`)
      else if (type === 'directory') await this.#clearAbove(path)
      else throw notADirectory(path)
      failpoint('snapshot.apply.clearing')
    }
  }

  async move(within: string): Promise<void> {
    for (const { name, type } of await namesIn(this.#files, `${this.#staged}/${within}`)) {
      const path = `${within}${name}`
      if (this.#kept.isKept(path)) continue
      if (!this.#kept.isAbove(path)) await this.#moveOne(path)
      else if (type === 'directory') await this.#moveInto(path)
      else throw notADirectory(path)
      failpoint('snapshot.apply.moving')
    }
  }

  async finishDirectory({ path, mode, mtimeNs }: JournalDirectory): Promise<void> {
    const target = `${this.#workspace}/${path}`
    if ((await this.#files.stat(target))?.type !== 'directory') return
    await this.#files.utimens(target, mtimeNs)
    await this.#files.chmod(target, mode)
  }

  /** Stays, and must let its owner in for what is removed from it and moved into it. Its mode is set in the end. */
  async #clearAbove(path: string): Promise<void> {
    const directory = `${this.#workspace}/${path}`
    const mode = (await this.#files.stat(directory))?.mode ?? OWNER
    if ((mode & OWNER) !== OWNER) await this.#files.chmod(directory, mode | OWNER)
    await this.clear(`${path}/`)
  }

  async #moveInto(path: string): Promise<void> {
    const target = `${this.#workspace}/${path}`
    const stat = await this.#files.stat(target)
    if (stat === undefined) await this.#files.mkdir(target)
    else if (stat.type !== 'directory') throw notADirectory(path)
    await this.move(`${path}/`)
  }

  async #moveOne(path: string): Promise<void> {
    const from = `${this.#staged}/${path}`
    const to = `${this.#workspace}/${path}`
    try {
      await this.#files.rename(from, to)
    } catch (error) {
      // Something came into its way after the workspace was cleared.
      if (!IN_THE_WAY.some((code) => isSandboxError(error, code))) throw error
      await removeIfThere(this.#files, to)
      await this.#files.rename(from, to)
    }
  }
}

/** Read, write and enter. */
const OWNER = 0o700
const IN_THE_WAY = ['already_exists', 'is_a_directory', 'not_a_directory'] as const

/** Gathered before anything is done, because what is done changes it. Nothing where there is no directory. */
async function namesIn(files: SandboxFiles, path: string): Promise<Array<{ name: string; type: string }>> {
  const directory = path.endsWith('/') ? path.slice(0, -1) : path
  if ((await files.stat(directory))?.type !== 'directory') return []
  const found: Array<{ name: string; type: string }> = []
  for await (const { name, type } of files.list(directory)) found.push({ name, type })
  return found
}

export function notADirectory(path: string): SandboxError<'path_denied'> {
  const reason = 'something beneath it is kept, and it is not a directory'
  return new SandboxError('path_denied', `${JSON.stringify(path)} cannot be restored: ${reason}.`, { path, reason })
}
