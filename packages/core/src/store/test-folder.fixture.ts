import { execFileSync } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Runs with a new folder, which is removed whatever happens. */
export async function withFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'cofferdam-store-'))
  try {
    await run(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Why small file systems cannot be made here; undefined when they can, and where they must be. */
export function whyNoMounts(): string | undefined {
  if (process.platform !== 'linux') return 'small file systems are made on Linux only'
  if (process.getuid?.() !== 0) return 'mounting a small file system needs root'
  return undefined
}

/** Runs with a file system of that size in a folder, which is unmounted whatever happens. */
export async function withSmallDisk(sizeKiB: number, run: (folder: string) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeKiB}k`, 'cofferdam-test', folder])
    try {
      await run(folder)
    } finally {
      // Lazily: a test that failed may have files open, and its file system must go all the same.
      execFileSync('umount', ['--lazy', folder])
    }
  })
}

/** What is being made in the folder of a store, or was left there. */
export async function temporariesIn(folder: string): Promise<string[]> {
  return await readdir(join(folder, 'tmp'))
}
