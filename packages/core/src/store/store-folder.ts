import { chmod, lstat, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from './durable-file.js'

/** Makes the folders of a store, mode 0700, durably. A folder of ours that others could use is closed to them. */
export async function openStoreFolder(folder: string, inner: readonly string[], fsync: boolean): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 })
  const stat = await lstat(folder)
  if (stat.isDirectory() && (stat.mode & 0o077) !== 0 && stat.uid === process.getuid?.()) await chmod(folder, 0o700)
  for (const path of inner) {
    await mkdir(path, { recursive: true, mode: 0o700 })
    const found = await lstat(path)
    if (!found.isDirectory()) throw Object.assign(new TypeError('not a folder'), { code: 'ENOTDIR', syscall: 'open' })
  }
  if (!fsync) return
  await syncFolder(folder)
  if (first !== undefined) await syncFolder(join(first, '..'))
}
