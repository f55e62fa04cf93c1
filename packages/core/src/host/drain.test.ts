import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { localBackend } from '@cofferdam/backend-local'
import { createHost } from '@cofferdam/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bundleDriver } from '../../test/bundle-driver.js'
import { codesOf } from '../acquire/faults.fixture.js'
import { testPlace } from '../acquire/test-host.fixture.js'
import type { SignalJob } from './signal.driver.js'

const program = await bundleDriver(new URL('signal.driver.ts', import.meta.url))
const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }

let folder: string
let running: Running | undefined

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cofferdam-signals-'))
})
afterEach(() => {
  running?.child.kill('SIGKILL')
  for (const pid of processes()) process.kill(pid, 'SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

interface Running {
  readonly child: ChildProcess
  readonly end: Promise<{ readonly code: number | null; readonly signal: string | null }>
  /** Waits for a line of its output. */
  said(line: string): Promise<void>
  output(): string
}

/** A process with live sessions. */
function start(job: Omit<SignalJob, 'folder'>): Running {
  const child = spawn(process.execPath, [program, JSON.stringify({ ...job, folder })], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env },
  })
  let output = ''
  const waiting = new Set<() => void>()
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
    for (const look of waiting) look()
  })
  const end = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal }))
  })
  const said = (line: string): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!output.split('\n').includes(line)) return
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
      look()
    })
  running = { child, end, said, output: () => output }
  return running
}

/** Processes of the sandboxes in the folder. */
function processes(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`${folder}/`)
      } catch {
        return false
      }
    })
}

/** The work of the first slot as the next host finds it, and whether its holder had not released it. */
async function aftermath(): Promise<{ branch: string; work: string; hadOwner: boolean }> {
  const host = await createHost({
    plugins: [localBackend({ root: join(folder, 'sandboxes') })],
    baseDir: folder,
    dataDir: join(folder, 'data'),
    drainOnSignals: false,
    logger: silent,
  })
  let tookOver = false
  host.onEvent((event) => {
    if (event.type === 'acquire.claimed') tookOver = event.tookOver
  })
  const session = await host.acquire({ scope: { session: 'signalled-0' }, afterRelease: 'destroy' })
  const work = await session.files.readText('work.txt')
  const { branch } = session
  await host.drain()
  return { branch, work, hadOwner: tookOver }
}

describe.runIf(process.platform === 'linux')('a signal while sessions are live', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('%s releases them and then ends the process', async (signal) => {
    const { child, end, said, output } = start({ application: 'nothing', hosts: 2 })
    await said('ready')
    child.kill(signal)
    expect(await end).toEqual({ code: null, signal })
    expect(output()).toContain('released 0')
    expect(output()).toContain('released 1')
    expect(output().match(/waiter not_running/g)).toHaveLength(2)
    expect(processes(), 'what was running ended').toEqual([])
    expect(await aftermath()).toMatchObject({ branch: 'warm', work: 'of 0', hadOwner: false })
  })

  it('ends the process at once when it comes a second time', async () => {
    const { child, end, said, output } = start({ application: 'nothing', stuck: true })
    await said('ready')
    child.kill('SIGTERM')
    await said('stuck')
    child.kill('SIGTERM')
    expect(await end).toEqual({ code: null, signal: 'SIGTERM' })
    expect(output()).not.toContain('released')
    expect(await aftermath()).toMatchObject({ branch: 'warm', work: 'of 0', hadOwner: true })
  })

  it.each(['once', 'always'] as const)('leaves the end to an application that listens %s', async (application) => {
    const { child, end, said } = start({ application })
    await said('ready')
    child.kill('SIGTERM')
    await Promise.all([said('application SIGTERM'), said('released 0')])
    child.stdin?.end('go\n')
    expect(await end).toEqual({ code: 7, signal: null })
    expect(await aftermath()).toMatchObject({ work: 'of 0', hadOwner: false })
  })
})

describe('drain', () => {
  it('releases what is live while others wait for it, and lets nobody in afterwards', async () => {
    const place = await testPlace()
    await using host = await place.host()
    const scope = { session: 'drained' }
    const session = await host.acquire({ scope })
    await session.files.write('work.txt', 'kept')
    const waiting = [host.acquire({ scope }), host.acquire({ scope, concurrency: 'share' })].map(codesOf)
    await host.host.drain()
    expect(session.status).toBe('closed')
    expect(await Promise.all(waiting)).toEqual(['not_running', 'not_running'])
    expect(await codesOf(host.acquire({ scope }))).toBe('not_running')
    expect(await codesOf(host.host.reap())).toBe('not_running')
    await using next = await place.host()
    expect(await (await next.acquire({ scope, waitMs: 0 })).files.readText('work.txt')).toBe('kept')
    await place.remove()
  })

  it('collects every failure', async () => {
    const place = await testPlace()
    const host = await place.host()
    for (const session of ['a', 'b']) {
      await host.acquire({ scope: { session }, hooks: { preStop: () => Promise.reject(new TypeError(session)) } })
    }
    expect(await codesOf(host.host.drain())).toBe('[[TypeError: a], [TypeError: b]]')
    await place.remove()
  })
})
