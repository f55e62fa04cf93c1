import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { localBackend } from '@cofferdam/backend-local'
import { createHost } from '@cofferdam/core'
import type { Host } from '@cofferdam/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bundleDriver } from '../../test/bundle-driver.js'
import { codesOf } from './faults.fixture.js'
import type { StaleJob } from './stale.driver.js'

const program = await bundleDriver(new URL('stale.driver.ts', import.meta.url))
const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }
const scope = { session: 'stale' }

let folder: string
let child: ChildProcess | undefined

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cofferdam-stale-'))
})
afterEach(() => {
  child?.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

/** A process that holds the slot, and what it says at its end. */
async function hold(how: StaleJob['how']): Promise<{ go(): void; tried: Promise<unknown> }> {
  const started = spawn(process.execPath, [program, JSON.stringify({ folder, how })], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child = started
  let output = ''
  await new Promise<void>((resolve) => {
    started.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      if (output.startsWith('holding\n')) resolve()
    })
  })
  const tried = new Promise<unknown>((resolve) => {
    started.on('close', () => resolve(JSON.parse(output.split('\n')[1] ?? 'null')))
  })
  const go = (): void => {
    writeFileSync(join(folder, 'go'), '')
    started.stdin.write('go\n')
  }
  return { go, tried }
}

function open(): Promise<Host> {
  return createHost({
    plugins: [localBackend({ root: join(folder, 'sandboxes') })],
    baseDir: folder,
    dataDir: join(folder, 'data'),
    drainOnSignals: false,
    leaseTtlMs: 1_000,
    logger: silent,
  })
}

const REFUSED = {
  exec: 'lease_lost',
  write: 'lease_lost',
  background: 'lease_lost',
  snapshot: 'lease_lost',
  release: 'lease_lost',
}
const DONE = { exec: 'done', write: 'done', background: 'done', snapshot: 'done', release: 'done' }

describe('a holder', () => {
  it('whose event loop stood still for longer than its lease is refused at its first call', async () => {
    const { go, tried } = await hold('blocked')
    await using host = await open()
    // It waits until the lease of the other has run out.
    const session = await host.acquire({ scope, waitMs: 20_000 })
    expect(await session.files.readText('work.txt'), 'unsaved work is in the live sandbox').toBe('of the first')
    await session.files.write('work.txt', 'of the second')
    go()
    expect(await tried).toEqual(REFUSED)
    expect(await session.files.readText('work.txt')).toBe('of the second')
    expect((await session.release({ afterRelease: 'destroy' })).compute).toBe('destroyed')
  })

  it('is refused also when nobody took its slot, for nobody could know', async () => {
    const { go, tried } = await hold('blocked')
    await using host = await open()
    const session = await host.acquire({ scope, waitMs: 20_000 })
    await session.release()
    go()
    expect(await tried).toEqual(REFUSED)
    const again = await host.acquire({ scope, waitMs: 0 })
    expect(await again.files.readText('work.txt')).toBe('of the first')
    await again.release({ afterRelease: 'destroy' })
  })

  it.each(['forward', 'backward'] as const)('keeps its slot when the clock jumps an hour %s', async (how) => {
    const { go, tried } = await hold(how)
    await using host = await open()
    expect(await codesOf(host.acquire({ scope, waitMs: 1_500 })), 'it renews its lease').toBe('lease_timeout')
    go()
    expect(await tried).toEqual(DONE)
    const again = await host.acquire({ scope, waitMs: 5_000 })
    expect(await again.files.readText('work.txt')).toBe('late')
    await again.release({ afterRelease: 'destroy' })
  })
})
