import { createHash } from 'node:crypto'
import { chmod, mkdir, readFile, readdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createFolderStateStore } from './folder-state-store.js'
import type { RegisterOperation } from './linearizable.fixture.js'
import { isLinearizable } from './linearizable.fixture.js'
import { FolderRegister } from './register/folder-register.js'
import { runDriverSync, startDriver } from './run-driver.fixture.js'
import { chooseSeed, seededRandom } from './seeded-random.fixture.js'
import { temporariesIn, whyNoMounts, withFolder, withSmallDisk } from './test-folder.fixture.js'

/** Starting processes takes its time on a busy machine. */
const timeout = 120_000
const failpoints = [
  'register.create.staged',
  'register.create.renamed',
  'register.append.written',
  'register.append.written:17',
  'register.append.linked',
  'register.append.linked:15',
  'register.retire',
  'register.retire:2',
]

describe('createFolderStateStore', () => {
  it('keeps others out: folders 0700, files 0600, also a folder that was there', async () => {
    await withFolder(async (folder) => {
      await chmod(folder, 0o755)
      await createFolderStateStore({ folder }).put('a', 1)
      expect((await stat(folder)).mode & 0o777).toBe(0o700)
      const entries = await readdir(folder, { recursive: true, withFileTypes: true })
      for (const entry of entries) {
        const { mode } = await stat(join(entry.parentPath, entry.name))
        expect(mode & 0o777, entry.name).toBe(entry.isDirectory() ? 0o700 : 0o600)
      }
    })
  })

  it('tells a value that was damaged, keeps it, and replaces it only without a condition', async () => {
    await withFolder(async (folder) => {
      const store = createFolderStateStore({ folder })
      const { version } = await store.put('a', { secret: 42 })
      const file = await onlyVersion(folder, 'a')
      const whole = await readFile(file)
      for (const damaged of damagedCopies(whole)) {
        await writeFile(file, damaged)
        const fresh = createFolderStateStore({ folder })
        for (const each of [store, fresh]) {
          await expect(each.get('a')).rejects.toMatchObject({ code: 'state_corrupt', details: { key: 'a' } })
          await expect(each.put('a', 1, { ifVersion: version })).rejects.toMatchObject({ code: 'state_corrupt' })
          await expect(each.put('a', 1, { ifVersion: null })).rejects.toMatchObject({ code: 'state_corrupt' })
        }
        expect((await fresh.list('')).keys).toEqual(['a'])
        expect(await readFile(file)).toEqual(damaged)
      }
      await store.put('a', 'replaced')
      expect((await store.get('a'))?.value).toBe('replaced')
    })
  })

  it('does not follow links that were put into its folder', async () => {
    await withFolder(async (folder) => {
      await createFolderStateStore({ folder: join(folder, 's') }).put('a', 'ours')
      await createFolderStateStore({ folder: join(folder, 'other') }).put('a', 'theirs')
      const version = await onlyVersion(join(folder, 's'), 'a')
      await rm(version)
      await symlink(await onlyVersion(join(folder, 'other'), 'a'), version)
      const store = createFolderStateStore({ folder: join(folder, 's') })
      await expect(store.get('a')).rejects.toMatchObject({ code: 'state_corrupt' })

      const outside = join(folder, 'other', 'keys', hashOf('a'))
      await rename(keyFolder(join(folder, 's'), 'a'), join(folder, 'moved'))
      await symlink(outside, keyFolder(join(folder, 's'), 'a'))
      const again = createFolderStateStore({ folder: join(folder, 's') })
      await expect(again.get('a')).rejects.toMatchObject({ code: 'state_corrupt' })
      await expect(again.put('a', 'x')).rejects.toMatchObject({ code: 'state_corrupt' })
      expect(await readdir(outside)).toHaveLength(2)
    })
  })

  it('does not take a folder that vanished for an empty one', async () => {
    await withFolder(async (folder) => {
      const store = createFolderStateStore({ folder: join(folder, 's') })
      await store.put('a', 1)
      await rm(join(folder, 's'), { recursive: true })
      await expect(store.get('a')).rejects.toMatchObject({ code: 'store_unavailable' })
      await expect(store.list('')).rejects.toMatchObject({ code: 'store_unavailable' })
      await expect(store.put('a', 2)).rejects.toMatchObject({ code: 'store_unavailable' })
      await mkdir(join(folder, 's'))
    })
  })

  it.each([1, 14, 15, 16, 31])(
    'refuses a writer that stood still after reading version %i',
    { timeout },
    async (from) => {
      await withFolder(async (folder) => {
        const store = createFolderStateStore({ folder, fsync: false })
        for (let number = 1; number <= from; number++) await store.put('k', number)
        const register = new FolderRegister({ folder, fsync: false, store: 'test' })
        const seen: unknown[] = []
        const written = await register.update('k', (current) => {
          seen.push(current?.number)
          // Everything between is removed meanwhile: numbers, epochs, the value itself.
          if (seen.length === 1) runDriverSync('overwrite', { folder, count: 40 })
          return '"late"'
        })
        expect(seen).toEqual([from, from + 40])
        expect(written?.number).toBe(from + 41)
        expect(await temporariesIn(folder)).toEqual([])
        expect((await readdir(keyFolder(folder, 'k'))).length).toBeLessThanOrEqual(3)
      })
    },
  )

  it('refuses a writer that stood still after seeing nothing', { timeout }, async () => {
    await withFolder(async (folder) => {
      const register = new FolderRegister({ folder, fsync: false, store: 'test' })
      const seen: unknown[] = []
      await register.update('k', (current) => {
        seen.push(current?.number)
        if (seen.length === 1) runDriverSync('overwrite', { folder, count: 3 })
        return '"late"'
      })
      expect(seen).toEqual([undefined, 3])
    })
  })

  it('is linearizable per key among four processes', { timeout }, async () => {
    const seed = chooseSeed('linearizability')
    await withFolder(async (folder) => {
      const clients = [0, 1, 2, 3].map((client) => startDriver('history', { folder, seed: seed + client, count: 300 }))
      const endings = await Promise.all(clients.map((client) => client.ended))
      expect(endings.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
        clients.map(() => ({ code: 0, stderr: '' })),
      )
      const histories = clients.map((client) => client.lines as RegisterOperation[])
      for (const key of ['a', 'b']) {
        const ofKey = histories.map((operations) => operations.filter((operation) => operation.key === key))
        expect(isLinearizable(ofKey), `key ${key}, seed ${seed}`).toBe(true)
        expectOneValuePerVersion(ofKey.flat())
        // The check can fail: the same history with one version swapped for an older one does not pass.
        expect(isLinearizable(withStaleRead(ofKey))).toBe(false)
      }
      expect(histories.flat().filter((operation) => operation.conflict === true).length).toBeGreaterThan(20)
    })
  })

  it.each(failpoints)('is whole after a kill at %s', { timeout }, async (failpoint) => {
    await withFolder(async (folder) => {
      const child = startDriver('count', { folder, count: 40 }, { COFFERDAM_FAILPOINT: failpoint })
      expect(await child.ended).toMatchObject({ signal: 'SIGKILL', stderr: '' })
      await expectWholeAfter(folder, child.lines.length)
    })
  })

  it('is whole after kills at any time', { timeout }, async () => {
    const seed = chooseSeed('kills of a state store')
    const random = seededRandom(seed)
    await withFolder(async (folder) => {
      let acknowledged = 0
      for (let round = 0; round < 6; round++) {
        const child = startDriver('count', { folder, count: 1_000_000 })
        const target = Math.floor(random() * 40)
        for (let seen = 0; seen <= target; seen++) await child.next()
        await child.kill()
        acknowledged = await expectWholeAfter(folder, Number(child.lines.at(-1) ?? acknowledged))
      }
    })
  })

  it('writes nothing in part on a full disk, and goes on when there is space again', async (context) => {
    const reason = whyNoMounts()
    if (reason !== undefined) return context.skip(reason)
    await withSmallDisk(512, async (folder) => {
      const store = createFolderStateStore({ folder })
      const { version } = await store.put('a', 'first')
      await writeFile(join(folder, 'ballast'), Buffer.alloc(300 * 1024))
      for (let round = 0; round < 10; round++) {
        const tooLarge = store.put('a', 'x'.repeat(400_000), { ifVersion: version })
        await expect(tooLarge).rejects.toMatchObject({ code: 'no_space', retryable: false })
        await expect(store.put(`new ${round}`, 'x'.repeat(400_000))).rejects.toMatchObject({ code: 'no_space' })
      }
      expect(await temporariesIn(folder)).toEqual([])
      expect(await createFolderStateStore({ folder }).get('a')).toEqual({ value: 'first', version })
      expect((await store.list('')).keys).toEqual(['a'])
      await rm(join(folder, 'ballast'))
      await store.put('a', 'x'.repeat(300_000), { ifVersion: version })
    })
  })
})

/** Old value or new, nothing between, nothing left over, and it goes on. Gives the value. */
async function expectWholeAfter(folder: string, acknowledged: number): Promise<number> {
  const store = createFolderStateStore({ folder })
  const entry = await store.get('k')
  const value = Number(entry?.value ?? 0)
  expect([acknowledged, acknowledged + 1]).toContain(value)
  expect(await temporariesIn(folder)).toEqual([])
  let version = entry?.version ?? null
  for (let round = 0; round < 32; round++) version = (await store.put('k', value, { ifVersion: version })).version
  expect(await temporariesIn(folder)).toEqual([])
  // The key itself, the epoch in use and the one just left or just begun.
  expect((await readdir(keyFolder(folder, 'k'))).length).toBeLessThanOrEqual(3)
  return value
}

function expectOneValuePerVersion(operations: readonly RegisterOperation[]): void {
  const values = new Map<string, unknown>()
  for (const { action, conflict, version, value } of operations) {
    if (conflict === true || typeof version !== 'string' || action === 'delete') continue
    expect(values.get(version) ?? value).toBe(value)
    values.set(version, value)
  }
}

/** The last read gives the first version that was ever written. */
function withStaleRead(clients: ReadonlyArray<readonly RegisterOperation[]>): RegisterOperation[][] {
  const all = clients.flat()
  const oldest = all.filter((operation) => typeof operation.version === 'string').sort((a, b) => a.end - b.end)[0]
  const last = all.filter((operation) => operation.action === 'get').sort((a, b) => b.start - a.start)[0]
  return clients.map((operations) =>
    operations.map((operation) =>
      operation === last ? { ...operation, version: oldest?.version ?? null } : operation,
    ),
  )
}

function* damagedCopies(whole: Buffer): Generator<Buffer> {
  yield Buffer.alloc(0)
  yield whole.subarray(0, whole.length - 1)
  yield Buffer.concat([whole, Buffer.from('\n')])
  yield Buffer.from('{"value": 1}')
  const at = whole.indexOf('42')
  yield Buffer.concat([whole.subarray(0, at), Buffer.from('43'), whole.subarray(at + 2)])
}

function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}

function keyFolder(folder: string, key: string): string {
  return join(folder, 'keys', hashOf(key))
}

async function onlyVersion(folder: string, key: string): Promise<string> {
  const epochs = (await readdir(keyFolder(folder, key))).filter((name) => name !== 'key')
  expect(epochs).toHaveLength(1)
  return join(keyFolder(folder, key), epochs[0] ?? '', '1')
}
