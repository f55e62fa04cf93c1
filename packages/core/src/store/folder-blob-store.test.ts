import { chmod, mkdir, readdir, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { BlobStore } from '../contracts/blob-store.js'
import { createFolderBlobStore } from './folder-blob-store.js'
import { startDriver } from './run-driver.fixture.js'
import { chooseSeed, seededRandom } from './seeded-random.fixture.js'
import { temporariesIn, whyNoMounts, withFolder, withSmallDisk } from './test-folder.fixture.js'

const BLOB_BYTES = 800_000
/** Starting processes takes its time on a busy machine. */
const timeout = 120_000
const failpoints = ['blob.put.filled', 'blob.put.written:3', 'blob.put.renamed:2', 'blob.delete.unlinked']

describe('createFolderBlobStore', () => {
  it('keeps others out: folders 0700, files 0600', async () => {
    await withFolder(async (folder) => {
      await chmod(folder, 0o777)
      await createFolderBlobStore({ folder }).put('a/b', new Uint8Array(1))
      expect((await stat(folder)).mode & 0o777).toBe(0o700)
      for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
        const { mode } = await stat(join(entry.parentPath, entry.name))
        expect(mode & 0o777, entry.name).toBe(entry.isDirectory() ? 0o700 : 0o600)
      }
    })
  })

  it('leaves no empty folders behind', async () => {
    await withFolder(async (folder) => {
      const store = createFolderBlobStore({ folder })
      await store.put('a/b/c', new Uint8Array(1))
      await store.put('a/d', new Uint8Array(1))
      await store.delete('a/b/c')
      expect((await readdir(folder, { recursive: true })).sort()).toEqual(['blobs', 'blobs/a', 'blobs/a/d,', 'tmp'])
    })
  })

  it('uses no two names that differ in case alone, and none that leads upwards', async () => {
    await withFolder(async (folder) => {
      const store = createFolderBlobStore({ folder })
      const keys = ['a', 'A', 'aB/c', 'ab/c', `${'x'.repeat(100)}../y`, '.../z', '.a/.b']
      for (const key of keys) await store.put(key, Buffer.from(key))
      const names = (await readdir(join(folder, 'blobs'), { recursive: true })).map((name) => name.toLowerCase())
      expect(new Set(names).size).toBe(names.length)
      const files = await readdir(join(folder, 'blobs'), { recursive: true, withFileTypes: true })
      expect(files.filter((entry) => entry.isFile())).toHaveLength(keys.length)
    })
  })

  it('does not follow links that were put into its folder', async () => {
    await withFolder(async (folder) => {
      const outside = join(folder, 'outside')
      await mkdir(outside)
      await writeFile(join(outside, 'a,'), 'theirs')
      const store = createFolderBlobStore({ folder: join(folder, 's') })
      await store.put('real', new Uint8Array(1))
      await symlink(join(outside, 'a,'), join(folder, 's', 'blobs', 'link,'))
      await symlink(outside, join(folder, 's', 'blobs', 'up'))
      await expect(store.get('link')).rejects.toMatchObject({ code: 'blob_not_found' })
      expect(await store.head('link')).toBeUndefined()
      const tasks = [
        () => store.get('up/a'),
        () => store.head('up/a'),
        () => store.delete('up/a'),
        () => put(store, 'up/a'),
      ]
      for (const task of tasks) {
        await expect(task()).rejects.toMatchObject({ code: 'store_unavailable' })
      }
      expect(await keysOf(store)).toEqual(['real'])
      await put(store, 'link')
      expect(await readdir(outside)).toEqual(['a,'])
      expect((await store.head('link'))?.sizeBytes).toBe(3)
    })
  })

  it('sweeps what the dead left half written, not what the living write', async () => {
    await withFolder(async (folder) => {
      const store = createFolderBlobStore({ folder })
      const source = async function* (): AsyncGenerator<Uint8Array> {
        yield new Uint8Array(300_000)
        const old = join(folder, 'tmp', 'of-another-machine')
        await writeFile(old, '')
        await utimes(old, new Date(0), new Date(0))
        await writeFile(join(folder, 'tmp', 'of-another-machine-but-new'), '')
        await createFolderBlobStore({ folder }).head('a')
        yield new Uint8Array(1)
      }
      await store.put('a', source())
      expect((await store.head('a'))?.sizeBytes).toBe(300_001)
      expect(await temporariesIn(folder)).toEqual(['of-another-machine-but-new'])
    })
  })

  it.each(failpoints)('is whole after a kill at %s', { timeout }, async (failpoint) => {
    await withFolder(async (folder) => {
      const child = startDriver('blobs', { folder, count: 20 }, { COFFERDAM_FAILPOINT: failpoint })
      expect(await child.ended).toMatchObject({ signal: 'SIGKILL', stderr: '' })
      await expectWhole(folder, child.lines.length)
    })
  })

  it('is whole after kills at any time', { timeout }, async () => {
    const seed = chooseSeed('kills of a blob store')
    const random = seededRandom(seed)
    await withFolder(async (folder) => {
      for (let round = 0; round < 4; round++) {
        const child = startDriver('blobs', { folder, count: 200 })
        for (let left = Math.floor(random() * 20); left >= 0; left--) await child.next()
        await child.kill()
        await expectWhole(folder, child.lines.length)
      }
    })
  })

  it('leaves nothing of a put that did not fit on the disk', async (context) => {
    const reason = whyNoMounts()
    if (reason !== undefined) return context.skip(reason)
    await withSmallDisk(1024, async (folder) => {
      const store = createFolderBlobStore({ folder })
      await store.put('a', new Uint8Array(400_000))
      for (let round = 0; round < 10; round++) {
        const tooLarge = store.put(round % 2 === 0 ? 'a' : 'b', new Uint8Array(900_000))
        await expect(tooLarge).rejects.toMatchObject({ code: 'no_space' })
      }
      expect(await temporariesIn(folder)).toEqual([])
      expect(await keysOf(store)).toEqual(['a'])
      expect((await store.head('a'))?.sizeBytes).toBe(400_000)
      await store.delete('a')
      await store.put('b', new Uint8Array(900_000))
    })
  })

  it('reads and writes 64 MiB in a few', async () => {
    await withFolder(async (folder) => {
      const store = createFolderBlobStore({ folder, fsync: false })
      const source = async function* (): AsyncGenerator<Uint8Array> {
        for (let part = 0; part < 640; part++) yield new Uint8Array(102_400).fill(part)
      }
      const before = process.memoryUsage().arrayBuffers
      let most = 0
      await store.put('a', source(), { sizeBytes: 65_536_000 })
      let sizeBytes = 0
      for await (const chunk of await store.get('a')) {
        sizeBytes += chunk.length
        most = Math.max(most, process.memoryUsage().arrayBuffers)
      }
      expect(sizeBytes).toBe(65_536_000)
      expect(most - before).toBeLessThan(48 * 1024 * 1024)
      await rm(join(folder, 'blobs'), { recursive: true })
      await expect(store.get('a')).rejects.toMatchObject({ code: 'store_unavailable' })
    })
  })
})

/** What is there is a whole blob of the last rounds, and nothing else is. */
async function expectWhole(folder: string, acknowledged: number): Promise<void> {
  const store = createFolderBlobStore({ folder })
  for (const key of await keysOf(store)) {
    const bytes = new Uint8Array(await new Response(await store.get(key)).arrayBuffer())
    const number = bytes[0] ?? 0
    expect(bytes.length).toBe(BLOB_BYTES)
    expect(bytes.every((byte) => byte === number)).toBe(true)
    expect(key).toBe(number % 2 === 0 ? 'a/even' : 'a/odd')
    const newest = acknowledged % 2 === number % 2 ? acknowledged : acknowledged - 1
    // A round that ended before its first blob of this key left that of the round before.
    if (newest > 0) expect([newest, newest + 2]).toContain(number)
  }
  if (acknowledged > 0) expect(await keysOf(store)).toContain('a/odd')
  expect(await temporariesIn(folder)).toEqual([])
}

function put(store: BlobStore, key: string): Promise<void> {
  return store.put(key, new Uint8Array(3))
}

async function keysOf(store: BlobStore): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of store.list('')) keys.push(key)
  return keys
}
