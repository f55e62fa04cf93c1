import { createMemoryGuard, SandboxError } from '@cofferdam/core'
import type { StateStore } from '@cofferdam/core/plugin'
import { memoryBackend } from '@cofferdam/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { codesOf, withMembers } from './faults.fixture.js'
import { sharedStores, testPlace } from './test-host.fixture.js'
import type { TestHost, TestPlace } from './test-host.fixture.js'

let place: TestPlace

beforeEach(async () => {
  place = await testPlace()
})
afterEach(() => place.remove())

const scope = { session: 'faulty' }
const manifest = { entries: { 'README.md': { kind: 'file', text: 'hello\n' } } } as const
type When = 'before' | 'after'

/** A store whose n-th put from now on fails, before or after it was done; and `puts` until then. */
function failingStore(real: StateStore): {
  store: StateStore
  fail: (nth: number, when: When, times?: number) => void
} {
  let left = Infinity
  let last = Infinity
  let when: When = 'before'
  const down = new SandboxError('store_unavailable', 'the store does not answer', { store: 'test', reason: 'test' })
  const store = withMembers(real, () => ({
    put: async (...of) => {
      left -= 1
      const fails = left < 1 && left > -last
      if (fails && when === 'before') throw down
      const done = await real.put(...of)
      if (fails) throw down
      return done
    },
  }))
  return {
    store,
    fail: (nth, at, times = 1) => {
      left = nth
      last = times
      when = at
    },
  }
}

async function hostOn(states: StateStore): Promise<TestHost> {
  return place.host({ plugins: [memoryBackend(place.world), sharedStores({ ...place, states })] })
}

/** The same slot from nothing to a workspace with work in it that was released. */
async function oneTurn(host: TestHost, afterRelease: 'park' | 'destroy'): Promise<void> {
  const session = await host.acquire({ scope, manifest, afterRelease, waitMs: 0 })
  await session.files.append('turns.txt', 'x')
  await session.release()
}

const CASES = (['claimed', 'ready', 'committed'] as const).flatMap((phase, index) =>
  (['before', 'after'] as const).flatMap((when) =>
    (['park', 'destroy'] as const).map((afterRelease) => ({ phase, nth: index + 1, when, afterRelease })),
  ),
)

describe.each([{ history: 'a new slot' }, { history: 'a parked one' }, { history: 'one with a snapshot' }])(
  'a record that cannot be written, of $history',
  ({ history }) => {
    it.each(CASES)(
      'as $phase, $when it was done, to be followed by $afterRelease',
      async ({ nth, when, afterRelease }) => {
        const { store, fail } = failingStore(place.states)
        await using host = await hostOn(store)
        let turns = 0
        if (history !== 'a new slot') {
          await oneTurn(host, history === 'a parked one' ? 'park' : 'destroy')
          turns += 1
        }
        fail(nth, when)
        const codes = await codesOf(oneTurn(host, afterRelease))
        expect(codes).toBe(nth === 3 ? '[store_unavailable]' : 'store_unavailable')
        if (nth === 3) turns += 1

        await using other = await hostOn(place.states)
        const look = await host.acquire({ scope, manifest, waitMs: 0 })
        expect((await look.files.exists('turns.txt')) ? await look.files.readText('turns.txt') : '').toBe(
          'x'.repeat(turns),
        )
        expect(await look.files.readText('README.md')).toBe('hello\n')
        await look.release({ afterRelease: 'destroy' })
        expect((await other.host.reap({ graceMs: 0 })).failures).toEqual([])
        expect(place.world.use.sandboxes, place.world.census().join('\n')).toBe(0)
      },
    )

    it.each(CASES)(
      'as $phase, $when it was done, and reaped before anybody asks ($afterRelease)',
      async ({ nth, when, afterRelease }) => {
        const { store, fail } = failingStore(place.states)
        await using host = await hostOn(store)
        let turns = 0
        if (history !== 'a new slot') {
          await oneTurn(host, history === 'a parked one' ? 'park' : 'destroy')
          turns += 1
        }
        // The store stays away for the rest of the turn.
        fail(nth, when, 2)
        await codesOf(oneTurn(host, afterRelease))
        fail(Infinity, when)
        if (nth === 3) turns += 1
        expect((await host.host.reap({ graceMs: 0 })).failures).toEqual([])
        const look = await host.acquire({ scope, manifest, waitMs: 0 })
        expect((await look.files.exists('turns.txt')) ? await look.files.readText('turns.txt') : '').toBe(
          'x'.repeat(turns),
        )
        await look.release({ afterRelease: 'destroy' })
        expect((await host.host.reap({ graceMs: 0 })).failures).toEqual([])
        expect(place.world.use.sandboxes, place.world.census().join('\n')).toBe(0)
      },
    )
  },
)

describe('a session without a scope', () => {
  it.each([2, 3].flatMap((nth) => (['before', 'after'] as const).map((when) => ({ nth, when }))))(
    'leaves no record and no sandbox when write $nth fails $when it was done',
    async ({ nth, when }) => {
      const { store, fail } = failingStore(place.states)
      await using host = await hostOn(store)
      fail(nth, when)
      const work = host.acquire({ snapshots: { kind: 'none' }, afterRelease: 'destroy' }).then((made) => made.release())
      expect(await codesOf(work)).toMatch(/store_unavailable/)
      expect((await host.host.reap({ graceMs: 0, unsaved: 'discard' })).failures).toEqual([])
      expect(place.world.use.sandboxes).toBe(0)
      if (nth === 2) expect((await place.states.list('')).keys).toEqual([])
    },
  )
})

describe('two hosts whose guards do not reach each other', () => {
  let nowMs: number
  const clock = { nowMs: () => nowMs, monotonicMs: () => performance.now() }
  const lonely = (): Promise<TestHost> =>
    place.host({
      plugins: [memoryBackend(place.world), sharedStores({ ...place, guard: createMemoryGuard() })],
      clock,
    })

  beforeEach(() => {
    nowMs = 1_800_000_000_000
  })

  it('keeps the second out while the first gives signs of life, and lets it take over afterwards', async () => {
    await using first = await lonely()
    await using second = await lonely()
    const session = await first.acquire({ scope, manifest })
    await session.files.write('work.txt', 'of the first')
    expect(await codesOf(second.acquire({ scope, manifest, waitMs: 0 }))).toBe('busy')
    const { kept, removed } = await second.host.reap({ graceMs: 0 })
    expect(removed).toEqual([])
    expect(kept).toMatchObject([{ reason: 'in use' }])
    expect(session.status).toBe('ready')

    nowMs += 61_000
    const taken = await second.acquire({ scope, manifest, waitMs: 0 })
    expect(taken.branch).toBe('warm')
    expect(await taken.files.readText('work.txt')).toBe('of the first')
    // The first believes in its lease until it writes; the sandbox knows better at once.
    expect(await codesOf(session.files.write('work.txt', 'late'))).toBe('lease_lost')
    expect(await codesOf(session.exec('echo late > work.txt'))).toBe('lease_lost')
    expect(await codesOf(session.release())).toMatch(/lease_lost/)
    expect(await taken.files.readText('work.txt')).toBe('of the first')
    expect((await taken.release()).compute).toBe('parked')
  })

  it('takes over at once from a process that is dead', async () => {
    await using first = await lonely()
    const session = await first.acquire({ scope, manifest })
    await session.files.write('work.txt', 'left behind')
    const [key = ''] = (await place.states.list('records/')).keys
    const value = (await place.states.get(key))?.value as { owner: { process: { pid: number; startTime: string } } }
    const dead = { ...value.owner.process, startTime: '1' }
    await place.states.put(key, { ...value, owner: { host: 'of-the-dead', process: dead } } as never)
    await using second = await lonely()
    const taken = await second.acquire({ scope, manifest, waitMs: 0 })
    expect(await taken.files.readText('work.txt')).toBe('left behind')
    expect(await codesOf(session.release())).toMatch(/lease_lost/)
  })

  it('lets exactly one of many claims at the same moment win, and loses no turn', async () => {
    const hosts = await Promise.all(Array.from({ length: 6 }, lonely))
    let turns = 0
    for (let round = 0; round < 8; round++) {
      const claims = hosts.map((host) => host.acquire({ scope, manifest, waitMs: 0 }))
      const results = await Promise.allSettled(claims)
      const won = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
      expect(won).toHaveLength(1)
      for (const code of await Promise.all(claims.map(codesOf))) expect(['none', 'busy']).toContain(code)
      await won[0]?.files.append('turns.txt', 'x')
      await won[0]?.release()
      turns += 1
    }
    const look = await hosts[0]?.acquire({ scope, waitMs: 0 })
    expect(await look?.files.readText('turns.txt')).toBe('x'.repeat(turns))
    await Promise.all(hosts.map((host) => host[Symbol.asyncDispose]()))
    expect(place.world.use.sandboxes).toBe(1)
  })
})
