import type { SessionFiles } from '@cofferdam/core'
import { isSandboxError, SandboxError } from '@cofferdam/core/plugin'
import type { PlannedChange } from './plan-patch.js'

type Undo = () => Promise<void>

/**
 * Makes the changes of a plan. When one fails, those before it are taken back, and what failed is thrown; what could not be
 * taken back is thrown with it in an AggregateError. After `lease_lost` nothing is taken back: the files are another's.
 *
 * @throws `invalid_argument` when a file is not what it was when the plan was made
 */
export async function carryOutPlan(changes: readonly PlannedChange[], files: SessionFiles): Promise<void> {
  const undos: Undo[] = []
  // What is deleted goes last: until then everything is still there.
  const ordered = [...changes].sort((a, b) => Number(a.kind === 'delete') - Number(b.kind === 'delete'))
  try {
    for (const change of ordered) await carryOut(change, files, undos)
  } catch (error) {
    if (isSandboxError(error, 'lease_lost')) throw error
    const failures = await takeBack(undos)
    if (failures.length === 0) throw error
    throw new AggregateError([error, ...failures], 'a patch failed midway, and not all of it could be taken back')
  }
}

async function carryOut(change: PlannedChange, files: SessionFiles, undos: Undo[]): Promise<void> {
  switch (change.kind) {
    case 'add':
      undos.push(() => removeFolders(change.newFolders, files))
      await files.write(change.path, change.content, { exclusive: true })
      undos.push(() => files.remove(change.path))
      return
    case 'update':
      await assertUnchanged(change.path, change.before, files)
      await files.write(change.path, change.content)
      undos.push(() => files.write(change.path, change.before))
      return
    case 'move':
      return carryOutMove(change, files, undos)
    case 'delete':
      await assertUnchanged(change.path, change.before, files)
      await files.remove(change.path)
      undos.push(() => files.write(change.path, change.before, { mode: change.mode, exclusive: true }))
      return
  }
}

async function carryOutMove(
  change: Extract<PlannedChange, { kind: 'move' }>,
  files: SessionFiles,
  undos: Undo[],
): Promise<void> {
  const { path, to, before, content, newFolders } = change
  await assertUnchanged(path, before, files)
  if (await files.exists(to)) throw new SandboxError('already_exists', `${to} exists by now`, { path: to })
  undos.push(() => removeFolders(newFolders, files))
  await files.rename(path, to)
  undos.push(() => files.rename(to, path))
  if (Buffer.compare(before, content) === 0) return
  await files.write(to, content)
  undos.push(() => files.write(to, before))
}

/** Somebody else may have written meanwhile; so may we, when two paths lead to one file by a link. */
async function assertUnchanged(path: string, before: Uint8Array, files: SessionFiles): Promise<void> {
  const now = await files.read(path, { maxBytes: Math.max(before.length, 1) }).catch((error: unknown) => {
    if (isSandboxError(error, 'quota_exceeded') || isSandboxError(error, 'not_found')) return undefined
    throw error
  })
  if (now !== undefined && Buffer.compare(now, before) === 0) return
  const reason = `${path} changed while the patch was applied; read it again`
  throw new SandboxError('invalid_argument', reason, { argument: 'patch', reason })
}

async function takeBack(undos: readonly Undo[]): Promise<unknown[]> {
  const failures: unknown[] = []
  for (const undo of [...undos].reverse()) await undo().catch((error: unknown) => failures.push(error))
  return failures
}

/** The innermost first. One that is not empty has somebody else's files in it by now, and stays. */
async function removeFolders(folders: readonly string[], files: SessionFiles): Promise<void> {
  for (const folder of [...folders].reverse()) {
    try {
      await files.remove(folder)
    } catch (error) {
      if (isSandboxError(error, 'already_exists')) return
      if (!isSandboxError(error, 'not_found')) throw error
    }
  }
}
