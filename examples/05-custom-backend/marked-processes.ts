import { readdir, readFile, rm } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import type { Signal } from '@cofferdam/core/plugin'

/** Every command carries it, so that its descendants are found again, also those of a host that died. */
export const MARK = 'COFFERDAM_EXAMPLE_COMMAND'

/** Signals whatever carries the mark in its environment, whoever started it. Returns from SIGKILL when none is left. */
export async function signalMarked(mark: string, signal: Signal): Promise<void> {
  for (;;) {
    const pids = await findMarked(mark)
    for (const pid of pids) killIfThere(pid, signal)
    if (pids.length === 0 || signal !== 'SIGKILL') return
    await setTimeout(2)
  }
}

/** Ends all commands of a sandbox. */
export function endMarked(name: string): Promise<void> {
  return signalMarked(`${name}/`, 'SIGKILL')
}

/** Ends what runs and removes the folder. Nothing there is fine. */
export async function removeFolder(folder: string, name: string): Promise<void> {
  await endMarked(name)
  await rm(folder, { recursive: true, force: true })
}

/** Processes with that mark or, when it ends with a slash, with any that begins with it. */
async function findMarked(mark: string): Promise<number[]> {
  const wanted = `\0${MARK}=${mark}${mark.endsWith('/') ? '' : '\0'}`
  const found: number[] = []
  for (const name of await readdir('/proc')) {
    if (!/^[0-9]+$/.test(name)) continue
    const environment = await readFile(`/proc/${name}/environ`, 'latin1').catch(() => '')
    if (`\0${environment}`.includes(wanted)) found.push(Number(name))
  }
  return found
}

function killIfThere(pid: number, signal: Signal): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
