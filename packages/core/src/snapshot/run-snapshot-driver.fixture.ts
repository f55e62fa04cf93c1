import { execFile, spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { promisify } from 'node:util'
import { bundleDriver } from '../../test/bundle-driver.js'
import type { SnapshotRef } from '../contracts/snapshot.js'

export interface DriverJob {
  /** Holds workspace and control folder. */
  readonly folder: string
  readonly blobFolder: string
  readonly keep?: readonly string[]
  readonly ref?: SnapshotRef
  /** Runs as that user and group. Default: as this process. */
  readonly uid?: number
}

const driver = await bundleDriver(new URL('snapshot.driver.ts', import.meta.url))
const run = promisify(execFile)

/** Runs a job in a process of its own. `killed` when it died at the fail point. */
export async function runDriver(
  job: string,
  options: DriverJob,
  failpoint = '',
): Promise<{ readonly killed: boolean; readonly said: string }> {
  const env = { ...process.env, COFFERDAM_FAILPOINT: failpoint }
  const command = [driver, job, JSON.stringify(options)]
  try {
    const { stdout } = await run(process.execPath, command, { env, ...userOf(options) })
    return { killed: false, said: stdout }
  } catch (error) {
    if ((error as { signal?: string }).signal === 'SIGKILL') return { killed: true, said: '' }
    throw error
  }
}

function userOf({ uid }: { readonly uid?: number }): { uid?: number; gid?: number } {
  return uid === undefined ? {} : { uid, gid: uid }
}

/** Why no driver can be run as another user; undefined when it can. */
export function whyNotAs(uid: number): string | undefined {
  if (process.getuid?.() !== 0) return 'becoming another user needs root'
  const look = 'for (const path of process.argv.slice(1)) require("node:fs").accessSync(path)'
  const { status } = spawnSync(process.execPath, ['-e', look, driver], { uid, gid: uid, cwd: '/' })
  return status === 0 ? undefined : 'the repository lies where other users cannot read it'
}

/** The fail points that a job passes, each with the number of passes. */
export async function traceFailpoints(job: string, options: DriverJob): Promise<Map<string, number>> {
  const trace = `${options.folder}/trace`
  const before = process.env['COFFERDAM_FAILPOINT_TRACE']
  process.env['COFFERDAM_FAILPOINT_TRACE'] = trace
  try {
    await runDriver(job, options)
    const passes = new Map<string, number>()
    for (const name of readFileSync(trace, 'utf8').trim().split('\n')) passes.set(name, (passes.get(name) ?? 0) + 1)
    return passes
  } finally {
    if (before === undefined) delete process.env['COFFERDAM_FAILPOINT_TRACE']
    else process.env['COFFERDAM_FAILPOINT_TRACE'] = before
    rmSync(trace, { force: true })
  }
}
