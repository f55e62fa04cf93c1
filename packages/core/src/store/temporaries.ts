import { createHash, randomBytes } from 'node:crypto'
import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { errnoOf } from './map-file-error.js'
import { currentOwner, judgeOwner } from './owner-identity.js'

const STALE_AFTER_MS = 24 * 60 * 60 * 1000
const NAME = /^([0-9a-f]{16})\.([0-9]{1,10})\.([0-9]{1,20}|-)\.[0-9a-f]{24}$/

/** A name in `folder` that nobody else uses and that says whose it is, so that it is swept when its maker dies. */
export function temporaryPath(folder: string): string {
  const { pid, startTime } = currentOwner()
  return join(folder, `${machineTag()}.${pid}.${startTime ?? '-'}.${randomToken()}`)
}

/** 96 random bits, as lower-case hex. */
export function randomToken(): string {
  return randomBytes(12).toString('hex')
}

/**
 * Removes what dead processes left in `folder`. Of makers whose death cannot be proved (another machine, container or
 * boot) only what was not touched for a day.
 */
export async function sweepTemporaries(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const verdict = judgeName(name)
    if (verdict === 'alive') continue
    if (verdict === 'unknown' && !(await isStale(path))) continue
    await rm(path, { recursive: true, force: true })
  }
}

function judgeName(name: string): 'alive' | 'dead' | 'unknown' {
  const [, machine, pid, startTime] = NAME.exec(name) ?? []
  if (machine !== machineTag()) return 'unknown'
  return judgeOwner({ ...currentOwner(), pid: Number(pid), startTime: startTime === '-' ? null : (startTime ?? null) })
}

async function isStale(path: string): Promise<boolean> {
  try {
    return Date.now() - (await lstat(path)).mtimeMs > STALE_AFTER_MS
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false
    throw error
  }
}

let tag: string | undefined

function machineTag(): string {
  const { host, bootId, pidNamespace } = currentOwner()
  tag ??= createHash('sha256')
    .update(JSON.stringify([host, bootId, pidNamespace]))
    .digest('hex')
    .slice(0, 16)
  return tag
}
