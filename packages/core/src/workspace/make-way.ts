import { isSandboxError } from '../errors/sandbox-error.js'
import type { Filling } from './filling.js'

/**
 * Makes sure that nothing is at `path`, and that a failure later brings back what was. What is in the way is moved aside
 * within the same file system; it is removed for good only when everything has succeeded.
 */
export async function makeWay(path: string, filling: Filling): Promise<void> {
  const { view, sandbox, rollback } = filling
  if ((await view.typeOf(path)) !== undefined) {
    const aside = await filling.staging()
    const place = view.absolute(path)
    rollback.add(async () => {
      if ((await sandbox.files.stat(aside)) !== undefined) await sandbox.files.rename(aside, place)
    })
    await sandbox.files.rename(place, aside)
    view.remove(path)
  }
  undoByRemoving(path, filling)
}

/** Nothing is at `path` now; after a failure nothing shall be there again. */
export function undoByRemoving(path: string, filling: Filling): void {
  const place = filling.view.absolute(path)
  filling.rollback.add(async () => {
    await filling.sandbox.files.remove(place, { recursive: true }).catch((error: unknown) => {
      if (!isSandboxError(error, 'not_found')) throw error
    })
  })
}
