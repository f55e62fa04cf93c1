import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { localBackend } from '@cofferdam/backend-local'
import { createFolderStateStore, createHost } from '@cofferdam/core'
import type { Host } from '@cofferdam/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { codesOf } from './faults.fixture.js'

/** Room for two archives of what the tests save, and for records. */
const SIZE_BYTES = 4 * 1024 * 1024
const isRoot = process.platform === 'linux' && process.getuid?.() === 0
const reason = mountProblem()

/** Why no small file system can be mounted here; null when one can. */
function mountProblem(): string | null {
  if (!isRoot) return 'only root may mount a tmpfs'
  const probe = mkdtempSync(join(tmpdir(), 'cofferdam-mount-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', probe], { stdio: 'pipe' })
    execFileSync('umount', [probe], { stdio: 'pipe' })
    return null
  } catch (error) {
    return `a tmpfs cannot be mounted: ${String((error as { stderr?: Buffer }).stderr).trim()}`
  } finally {
    rmSync(probe, { recursive: true })
  }
}

if (reason !== null) {
  if (isRoot && process.env['CI'] === 'true') throw new Error(`full disks must be tested here, but ${reason}`)
  console.warn(`full disks are not tested: ${reason}`)
}

let folder: string
let host: Host

const scope = { session: 'full' }
const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }

describe.skipIf(reason !== null)('stores on a disk that is full', () => {
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'cofferdam-full-'))
    mkdirSync(join(folder, 'data'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE_BYTES}`, 'tmpfs', join(folder, 'data')])
    host = await open()
  })
  afterEach(async () => {
    try {
      clear()
      await host[Symbol.asyncDispose]()
    } finally {
      execFileSync('umount', ['-l', join(folder, 'data')])
      rmSync(folder, { recursive: true, force: true })
    }
  })

  function open(): Promise<Host> {
    return createHost({
      plugins: [localBackend({ root: join(folder, 'sandboxes') })],
      baseDir: folder,
      dataDir: join(folder, 'data'),
      drainOnSignals: false,
      // A lease that cannot be given back for want of space ends by itself.
      leaseTtlMs: 1_000,
      logger: silent,
    })
  }

  /** Leaves as many bytes free as asked for, in whole pages. */
  function fill(freeBytes = 0): void {
    const { bavail, bsize } = statfsSync(join(folder, 'data'))
    const bytes = bavail * bsize - freeBytes
    if (bytes > 0) writeFileSync(join(folder, 'data', 'ballast'), Buffer.alloc(bytes))
    if (freeBytes > 0) return
    for (let index = 0; ; index++) {
      try {
        writeFileSync(join(folder, 'data', `ballast-${index}`), 'x')
      } catch {
        return
      }
    }
  }

  function clear(): void {
    for (const name of readdirSync(join(folder, 'data')))
      if (name.startsWith('ballast')) rmSync(join(folder, 'data', name))
  }

  function sandboxes(): number {
    const names = readdirSync(join(folder, 'sandboxes'), { recursive: true }).map(String)
    return names.filter((path) => /(^|\/)workspace$/.test(path)).length
  }

  /** Every stored record is as it was written; the store checks that by a hash. Gives how many there are. */
  async function readRecords(): Promise<number> {
    await using states = createFolderStateStore({ folder: join(folder, 'data', 'state') })
    const { keys } = await states.list('')
    for (const key of keys) expect(await states.get(key), key).toBeDefined()
    return keys.length
  }

  it('refuses to acquire, leaves nothing, and works again when there is space', async () => {
    fill()
    expect(await codesOf(host.acquire({ scope }))).toBe('no_space')
    expect(sandboxes()).toBe(0)
    clear()
    expect(await readRecords()).toBe(0)
    const session = await host.acquire({ scope, waitMs: 0 })
    expect(session.branch).toBe('cold')
    await session.release({ afterRelease: 'destroy' })
  })

  it.each(['park', 'destroy'] as const)('keeps the sandbox of a release (%s) that cannot be saved', async (after) => {
    const session = await host.acquire({ scope, afterRelease: after })
    await session.files.write('only-copy.txt', 'precious')
    // Enough for records, not for the archive.
    await session.exec('head -c 1000000 /dev/urandom > large.bin')
    fill(256 * 1024)
    const error: unknown = await session.release().catch((caught: unknown) => caught)
    expect((error as AggregateError).errors).toMatchObject([{ code: 'no_space' }])
    expect(sandboxes()).toBe(1)
    expect(await readRecords()).toBe(1)
    const blobs = readdirSync(join(folder, 'data', 'blobs'), { recursive: true, withFileTypes: true })
    expect(
      blobs.filter((entry) => entry.isFile() && entry.name.endsWith('.tar')),
      'no half archive',
    ).toEqual([])

    // Still no space: the sweep fails as well, and keeps it.
    const early = await host.reap({ graceMs: 0 })
    expect(early.removed).toEqual([])
    expect(early.failures).toMatchObject([{ code: 'no_space' }])
    clear()
    expect(await host.reap({ graceMs: 0, unsaved: 'save' })).toMatchObject({ removed: [{}], failures: [] })
    expect(sandboxes()).toBe(0)
    const again = await host.acquire({ scope, waitMs: 0 })
    expect(again.branch).toBe('lost')
    expect(await again.files.readText('only-copy.txt')).toBe('precious')
    expect((await again.exec('wc -c < large.bin')).stdout.trim()).toBe('1000000')
    await again.release({ afterRelease: 'destroy' })
  })

  it('keeps the sandbox when not even the record can be written', async () => {
    const session = await host.acquire({ scope, afterRelease: 'destroy' })
    await session.files.write('only-copy.txt', 'precious')
    fill()
    const codes = await codesOf(session.release())
    expect(codes).toMatch(/^\[no_space(, no_space)*\]$/)
    expect(sandboxes()).toBe(1)
    expect(await readRecords()).toBe(1)
    clear()
    expect((await host.reap({ graceMs: 0, unsaved: 'save' })).failures).toEqual([])
    const again = await host.acquire({ scope, waitMs: 10_000 })
    expect(await again.files.readText('only-copy.txt')).toBe('precious')
    await again.release({ afterRelease: 'destroy' })
    expect(sandboxes()).toBe(0)
  })
})
