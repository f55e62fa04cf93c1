import { z } from 'zod'
import type { SandboxFiles } from '../contracts/files.js'
import type { Sandbox } from '../contracts/sandbox.js'
import { SandboxError } from '../errors/sandbox-error.js'
import { parseRelativePath } from '../path/relative-path.js'
import { readWhole } from './read-whole.js'
import { snapshotCorrupt } from './snapshot-corrupt.js'
import { STAMP_PATTERN } from './snapshot-id.js'

const MAX_JOURNAL_BYTES = 8 * 1024 ** 2

/**
 * What is left to do of a restore whose bytes are all staged and verified. Written in one piece before the workspace is
 * touched, so that a dead process's work can be finished:
 *
 * - `clear`: remove what is in the workspace, but for what is kept and the directories on the way to it.
 * - `move`: rename what is staged into the workspace, then give `directories` their modes and times.
 *
 * Both can be done again from any point within. The last step removes the staging folder and then the journal.
 */
export interface RestoreJournal {
  readonly version: 1
  readonly snapshot: string
  /** Name of the staging folder beside the journal. */
  readonly staging: string
  readonly phase: 'clear' | 'move'
  /** Workspace-relative. */
  readonly keep: readonly string[]
  /** Directories whose mode or time can be set only in the end, parents first. */
  readonly directories: readonly JournalDirectory[]
}

export interface JournalDirectory {
  readonly path: string
  readonly mode: number
  readonly mtimeNs: bigint
}

const relativePath = z.string().refine((text) => isRelative(text), 'it is not a relative path')
const journalSchema = z.strictObject({
  version: z.literal(1),
  snapshot: z.string().max(256),
  staging: z.string().regex(STAMP_PATTERN),
  phase: z.enum(['clear', 'move']),
  keep: z.array(relativePath),
  directories: z.array(
    z.strictObject({
      path: relativePath,
      mode: z.int().min(0).max(0o7777),
      mtimeNs: z
        .string()
        .regex(/^-?[0-9]{1,19}$/)
        .transform((text) => BigInt(text)),
    }),
  ),
})

/** Where restores work: beneath the control folder. */
export function restoreFolder({ paths }: Sandbox): string {
  return `${paths.control}/restore`
}

export function stagedTree(sandbox: Sandbox, staging: string): string {
  return `${restoreFolder(sandbox)}/${staging}/tree`
}

export async function writeJournal(sandbox: Sandbox, journal: RestoreJournal): Promise<void> {
  const directories = journal.directories.map((each) => ({ ...each, mtimeNs: each.mtimeNs.toString() }))
  const bytes = new TextEncoder().encode(JSON.stringify({ ...journal, directories }))
  if (bytes.length > MAX_JOURNAL_BYTES) {
    const reason = 'it has too many directories that nobody may write to'
    throw new SandboxError('snapshot_failed', `Snapshot ${journal.snapshot} cannot be restored: ${reason}.`, {
      reason,
      paths: [],
    })
  }
  await sandbox.files.write(journalPath(sandbox), bytes, { mode: 0o600 })
}

/**
 * The journal, if there is one. Commands of the sandbox may have the same uid and so may have written it: nothing is taken
 * for granted, and what cannot be read is `snapshot_corrupt`, because it may be the only trace of a restore half applied.
 */
export async function findJournal(sandbox: Sandbox): Promise<RestoreJournal | undefined> {
  const path = journalPath(sandbox)
  const stat = await sandbox.files.stat(path)
  if (stat === undefined) return undefined
  const corrupt = (reason: string): SandboxError => {
    const advice = 'delete the sandbox and start from its last snapshot'
    return snapshotCorrupt('being restored', path, `${reason}, so that the workspace may be incomplete; ${advice}`)
  }
  if (stat.type !== 'file') throw corrupt('the journal is no file')
  const text = await readText(sandbox.files, path)
  if (text === undefined) throw corrupt('the journal is not text, or too long')
  const parsed = journalSchema.safeParse(parseJson(text))
  if (!parsed.success) throw corrupt('the journal does not have the form of one')
  return parsed.data
}

export async function removeJournal(sandbox: Sandbox): Promise<void> {
  await sandbox.files.remove(journalPath(sandbox))
}

function journalPath(sandbox: Sandbox): string {
  return `${restoreFolder(sandbox)}/journal.json`
}

async function readText(files: SandboxFiles, path: string): Promise<string | undefined> {
  const bytes = await readWhole(await files.read(path), MAX_JOURNAL_BYTES)
  if (bytes === undefined) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function isRelative(text: string): boolean {
  try {
    return parseRelativePath(text) === text
  } catch {
    return false
  }
}
