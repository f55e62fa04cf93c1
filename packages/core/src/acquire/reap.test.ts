import { createMemoryGuard, createMemoryStateStore, isSandboxError, SandboxError } from '@cofferdam/core'
import { memoryBackend } from '@cofferdam/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { codesOf, faultyBackend } from './faults.fixture.js'
import { sharedStores, testPlace } from './test-host.fixture.js'
import type { TestHost, TestPlace } from './test-host.fixture.js'

let place: TestPlace
let nowMs: number
const clock = { nowMs: () => nowMs, monotonicMs: () => performance.now() }

beforeEach(async () => {
  place = await testPlace()
  nowMs = Date.now()
})
afterEach(() => place.remove())

const scope = { session: 'reaped' }
const manifest = { entries: { 'README.md': { kind: 'file', text: 'hello\n' } } } as const

/** Leaves a sandbox whose only copy of some work no snapshot holds. */
async function leaveUnsaved(host: TestHost, times = 1): Promise<void> {
  for (let turn = 1; turn <= times; turn++) {
    const session = await host.acquire({ scope, manifest, waitMs: 0 })
    await session.files.write('work.txt', `turn ${turn}`)
    const put = place.blobs.put.bind(place.blobs)
    place.blobs.put = () => Promise.reject(new SandboxError('store_unavailable', 'down', { store: 's', reason: 'r' }))
    expect(await codesOf(session.release())).toBe('[store_unavailable]')
    place.blobs.put = put
  }
}

async function workOf(host: TestHost): Promise<string | null> {
  const session = await host.acquire({ scope, manifest, waitMs: 0 })
  const text = (await session.files.exists('work.txt')) ? await session.files.readText('work.txt') : null
  await session.release({ afterRelease: 'destroy' })
  return text
}

describe('sandboxes of others', () => {
  it('leaves those of another deployment alone, whatever they look like', async () => {
    await using stranger = await place.host({ deployment: 'theirs' })
    await leaveUnsaved(stranger)
    const before = place.world.census()
    await using host = await place.host({
      plugins: [memoryBackend(place.world), sharedStores({ ...place, states: createMemoryStateStore() })],
    })
    expect(await host.host.reap({ graceMs: 0, unsaved: 'discard' })).toEqual({ removed: [], kept: [], failures: [] })
    expect(place.world.census()).toEqual(before)
  })

  it('leaves slots that are in use alone, of this host and of another', async () => {
    await using host = await place.host()
    await using other = await place.host()
    const mine = await host.acquire({ scope })
    const theirs = await other.acquire({ scope: { session: 'theirs' } })
    for (const each of [host, other]) {
      const { removed, kept, failures } = await each.host.reap({ graceMs: 0, unsaved: 'discard' })
      expect({ removed, failures }).toEqual({ removed: [], failures: [] })
      expect(kept.map(({ reason }) => reason)).toEqual(['in use', 'in use'])
    }
    expect((await mine.exec('echo fine')).stdout).toBe('fine\n')
    expect((await theirs.exec('echo fine')).stdout).toBe('fine\n')
  })
})

describe('unsaved work', () => {
  it.each([
    { unsaved: 'save', sandboxes: 0, work: 'turn 1' },
    { unsaved: 'keep', sandboxes: 1, work: 'turn 1' },
    { unsaved: 'discard', sandboxes: 0, work: null },
  ] as const)('is dealt with as told: $unsaved', async ({ unsaved, sandboxes, work }) => {
    await using host = await place.host()
    await leaveUnsaved(host)
    const { failures, removed, kept } = await host.host.reap({ graceMs: 0, unsaved })
    expect(failures).toEqual([])
    expect([removed.length, kept.length]).toEqual([1 - sandboxes, sandboxes])
    expect(place.world.use.sandboxes).toBe(sandboxes)
    expect(await workOf(host)).toBe(work)
  })

  it('is kept when it cannot be saved now, and saved by the next sweep', async () => {
    await using host = await place.host()
    await leaveUnsaved(host)
    const put = place.blobs.put.bind(place.blobs)
    place.blobs.put = () => Promise.reject(new SandboxError('store_unavailable', 'down', { store: 's', reason: 'r' }))
    const { removed, failures } = await host.host.reap({ graceMs: 0 })
    expect(removed).toEqual([])
    expect(failures).toHaveLength(1)
    place.blobs.put = put
    expect((await host.host.reap({ graceMs: 0 })).removed).toHaveLength(1)
    expect(await workOf(host)).toBe('turn 1')
  })

  it('does not block the slot for other hosts when saving it failed', async () => {
    const lonely = (): Promise<TestHost> =>
      place.host({
        plugins: [memoryBackend(place.world), sharedStores({ ...place, guard: createMemoryGuard() })],
        clock,
      })
    await using host = await lonely()
    await leaveUnsaved(host)
    const put = place.blobs.put.bind(place.blobs)
    place.blobs.put = () => Promise.reject(new SandboxError('store_unavailable', 'down', { store: 's', reason: 'r' }))
    expect((await host.host.reap({ graceMs: 0 })).failures).toHaveLength(1)
    place.blobs.put = put
    await using other = await lonely()
    expect(await workOf(other)).toBe('turn 1')
  })

  it('is kept, and the reason given, where a backend cannot find sandboxes again', async () => {
    const plugin = faultyBackend(place.world, {
      client: (real) => ({
        features: { ...real.features, reattach: false },
        resume: () =>
          Promise.reject(new SandboxError('unsupported_feature', 'no', { feature: 'reattach', reason: 'r' })),
      }),
      sandbox: (real) => ({ features: { ...real.features, reattach: false } }),
    })
    await using host = await place.host({ plugins: [plugin, sharedStores(place)] })
    await leaveUnsaved(host)
    const { kept, failures } = await host.host.reap({ graceMs: 0 })
    expect(failures).toEqual([])
    expect(kept).toMatchObject([{ reason: expect.stringContaining('cannot be saved') as string }])
    expect(await host.host.reap({ graceMs: 0, unsaved: 'discard' })).toMatchObject({ removed: [{}], failures: [] })
  })
})

describe('a state store that was flushed', () => {
  const flushed = (): Promise<TestHost> =>
    place.host({
      plugins: [
        memoryBackend(place.world),
        // The guard begins to count anew as well.
        sharedStores({ ...place, states, guard: createMemoryGuard() }),
      ],
      clock,
    })
  let states = createMemoryStateStore()
  beforeEach(() => {
    states = createMemoryStateStore()
  })

  it('leaves sandboxes without a record alone for the grace time, then saves them under their slot', async () => {
    await using before = await place.host()
    // Many turns, so that the sandbox has seen higher fences than a new guard gives.
    await leaveUnsaved(before, 5)
    await using host = await flushed()
    expect(await host.host.reap()).toMatchObject({ removed: [], kept: [{ reason: 'no record yet' }], failures: [] })
    nowMs += 6 * 60_000
    expect(await host.host.reap()).toMatchObject({ removed: [{}], kept: [], failures: [] })
    expect(place.world.use.sandboxes).toBe(0)
    expect(await workOf(host)).toBe('turn 5')
  })

  it('saves them also when the first attempt failed half way', async () => {
    await using before = await place.host()
    await leaveUnsaved(before)
    await using host = await flushed()
    nowMs += 1_000
    const put = place.blobs.put.bind(place.blobs)
    place.blobs.put = () => Promise.reject(new SandboxError('store_unavailable', 'down', { store: 's', reason: 'r' }))
    expect((await host.host.reap({ graceMs: 0 })).failures).toHaveLength(1)
    place.blobs.put = put
    expect((await host.host.reap({ graceMs: 0 })).removed).toHaveLength(1)
    expect(await workOf(host)).toBe('turn 1')
  })

  it('keeps what was never saved when its slot was used again before anybody reaped', async () => {
    await using before = await place.host()
    await leaveUnsaved(before)
    await using host = await flushed()
    expect(await workOf(host), 'nothing leads to the old work any more').toBe(null)
    nowMs += 1_000
    const { kept, removed } = await host.host.reap({ graceMs: 0 })
    expect(removed).toEqual([])
    expect(kept).toMatchObject([{ reason: expect.stringContaining('whose record is lost') as string }])
    expect((await host.host.reap({ graceMs: 0, unsaved: 'discard' })).removed).toHaveLength(1)
  })

  it('finds nothing to do twice', async () => {
    await using before = await place.host()
    await leaveUnsaved(before)
    await using host = await flushed()
    nowMs += 1_000
    expect((await host.host.reap({ graceMs: 0 })).removed).toHaveLength(1)
    expect(await host.host.reap({ graceMs: 0 })).toEqual({ removed: [], kept: [], failures: [] })
  })
})

describe('one that fails', () => {
  it('does not keep the others from being reaped', async () => {
    const failing = faultyBackend(place.world, {
      client: (real) => ({
        delete: async (state, options) => {
          if (state['id'] === first)
            throw new SandboxError('backend_unavailable', 'no', { backend: 'memory', reason: 'r' })
          await real.delete(state, options)
        },
      }),
    })
    await using host = await place.host({ plugins: [failing, sharedStores(place)], clock })
    for (const session of ['a', 'b', 'c']) await (await host.acquire({ scope: { session }, parkMs: 1_000 })).release()
    const first = [...place.world.machines.keys()][0]
    nowMs += 2_000
    const { removed, failures } = await host.host.reap()
    expect([removed.length, failures.length]).toEqual([2, 1])
  })

  it('a record that cannot be read is a failure, and its sandbox stays', async () => {
    await using host = await place.host()
    await leaveUnsaved(host)
    const [key = ''] = (await place.states.list('records/')).keys
    await place.states.put(key, { version: 99 })
    const { removed, failures } = await host.host.reap({ graceMs: 0, unsaved: 'discard' })
    expect(removed).toEqual([])
    expect(failures.map((each) => isSandboxError(each) && each.code)).toEqual(['state_version_unsupported'])
    expect(place.world.use.sandboxes).toBe(1)
  })

  it('ends at once when its signal has fired', async () => {
    await using host = await place.host()
    await leaveUnsaved(host)
    expect(await codesOf(host.host.reap({ graceMs: 0, signal: AbortSignal.abort() }))).toBe('aborted')
    expect(place.world.use.sandboxes).toBe(1)
  })
})

describe('forks that lost', () => {
  async function loseFork(host: TestHost, text: string): Promise<string> {
    const fork = await host.acquire({ scope, concurrency: 'fork', forkTtlMs: 60_000 })
    const winner = await host.acquire({ scope })
    await fork.files.write('fork.txt', text)
    const error: unknown = await fork.release().catch((caught: unknown) => caught)
    await winner.release()
    if (!isSandboxError(error, 'state_conflict')) throw error
    return (error.details.snapshot as { id: string }).id
  }
  const blobsOf = async (id: string): Promise<number> => {
    let found = 0
    for await (const { key } of place.blobs.list('')) if (key.includes(id)) found += 1
    return found
  }

  it('stay for their time and are removed with their records after it, also when one of them cannot be', async () => {
    await using host = await place.host({ clock })
    await (await host.acquire({ scope, manifest })).release()
    const first = await loseFork(host, 'one')
    nowMs += 1
    const second = await loseFork(host, 'two')
    expect(await blobsOf(first)).toBeGreaterThan(0)
    await host.host.reap()
    expect(await blobsOf(first), 'its time is not over').toBeGreaterThan(0)
    // Somebody damaged the first pin.
    const pins = (await place.states.list('forks/')).keys
    expect(pins).toHaveLength(2)
    await place.states.put(pins[0] ?? '', { broken: true })
    nowMs += 61_000
    const { failures } = await host.host.reap()
    expect(failures).toHaveLength(1)
    expect(await blobsOf(second)).toBe(0)
    expect((await place.states.list('forks/')).keys).toEqual([pins[0]])
    // The slot and the damaged fork.
    expect((await place.states.list('records/')).keys).toHaveLength(2)
    expect((await host.acquire({ scope, waitMs: 0 })).branch).toBe('warm')
  })
})
