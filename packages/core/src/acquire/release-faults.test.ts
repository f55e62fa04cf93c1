import { SandboxError } from '@cofferdam/core'
import type { ReleaseStep } from '@cofferdam/core'
import type { Sandbox, SandboxClient } from '@cofferdam/core/plugin'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { codesOf, faultyBackend, withMembers } from './faults.fixture.js'
import { sharedStores, testPlace } from './test-host.fixture.js'
import type { TestHost, TestPlace } from './test-host.fixture.js'

let place: TestPlace
/** The step that has a fault now, and what it does. */
let fault: { readonly step: ReleaseStep; readonly how: 'fails' | 'hangs' } | undefined

beforeEach(async () => {
  place = await testPlace()
  fault = undefined
})
afterEach(() => place.remove())

const scope = { session: 'releaser' }
const STEPS: readonly ReleaseStep[] = ['hooks', 'processes', 'freeze', 'snapshot', 'thaw', 'record', 'compute', 'lease']
const BOUNDS = Object.fromEntries(STEPS.map((step) => [step, 60])) as Record<ReleaseStep, number>

function perhaps(step: ReleaseStep): Promise<void> {
  if (fault === undefined || fault.step !== step) return Promise.resolve()
  if (fault.how === 'hangs') return new Promise(() => undefined)
  return Promise.reject(new SandboxError('backend_unavailable', `no ${step}`, { backend: 'memory', reason: 'test' }))
}

/** A host with a fault before each step of a release; slow enough bounds for the sound steps, short for those that hang. */
async function faultyHost(): Promise<TestHost> {
  const backend = faultyBackend(place.world, {
    client: (real): Partial<SandboxClient> => ({
      delete: async (...of) => {
        await perhaps('compute')
        await real.delete(...of)
      },
    }),
    sandbox: (real): Partial<Sandbox> => ({
      processes: async () => {
        await perhaps('processes')
        return real.processes()
      },
      freeze: async () => {
        await perhaps('freeze')
        await real.freeze()
      },
      thaw: async () => {
        await perhaps('thaw')
        await real.thaw()
      },
      [Symbol.asyncDispose]: async () => {
        await perhaps('lease')
        await real[Symbol.asyncDispose]()
      },
    }),
  })
  const states = withMembers(place.states, (real) => ({
    put: async (...of) => {
      if ((of[1] as { phase?: string }).phase === 'committed') await perhaps('record')
      return real.put(...of)
    },
  }))
  const blobs = withMembers(place.blobs, (real) => ({
    put: async (...of) => {
      await perhaps('snapshot')
      await real.put(...of)
    },
  }))
  const plugins = [backend, sharedStores({ ...place, states, blobs })]
  return place.host({ plugins, releaseBoundsMs: fault?.how === 'hangs' ? { [fault.step]: BOUNDS[fault.step] } : {} })
}

const CASES = STEPS.flatMap((step) =>
  (['fails', 'hangs'] as const).flatMap((how) => (['park', 'destroy'] as const).map((after) => ({ step, how, after }))),
)

describe('a step of the release that has a fault', () => {
  it.each(CASES)('$step $how, then $after', async ({ step, how, after }) => {
    fault = { step, how }
    await using host = await faultyHost()
    const session = await host.acquire({ scope, hooks: { preStop: () => perhaps('hooks') }, afterRelease: after })
    await session.files.write('only-copy.txt', 'precious')
    const failsAt = !(step === 'compute' && after === 'park')
    const codes = await codesOf(session.release())
    const code = how === 'hangs' ? 'timeout' : 'backend_unavailable'
    expect(codes).toBe(failsAt ? `[${code}]` : 'none')
    expect(session.status).toBe('closed')

    const seen = host.events.flatMap((event) => (event.type === 'release.step' ? [event] : []))
    // What could destroy the only copy is not attempted; everything else is, in its order.
    const unsafe = step === 'snapshot' || step === 'record'
    expect(seen.map((event) => event.step)).toEqual(STEPS.filter((each) => !(unsafe && each === 'compute')))
    const failed = seen.filter(({ error }) => error !== null)
    expect(failed.map((event) => event.step)).toEqual(failsAt ? [step] : [])
    expect(host.events.some(({ type }) => type === 'release.unsaved')).toBe(unsafe)
    if (unsafe) expect(place.world.use.sandboxes, 'the only copy stays').toBe(1)

    fault = undefined
    const again = await host.acquire({ scope, waitMs: 0 })
    expect(await again.files.readText('only-copy.txt')).toBe('precious')
    await again.release({ afterRelease: 'destroy' })
    expect((await host.host.reap({ graceMs: 0 })).failures).toEqual([])
    expect(place.world.use.sandboxes).toBe(0)
  })

  it('holds all failures of several steps in one error', async () => {
    await using host = await faultyHost()
    const hooks = { preStop: () => Promise.reject(new TypeError('hook')) }
    const session = await host.acquire({ scope, hooks })
    fault = { step: 'snapshot', how: 'fails' }
    place.states.put = ((put) => (key: string, value: never, options: never) =>
      fault === undefined
        ? put(key, value, options)
        : Promise.reject(new SandboxError('store_unavailable', 'down', { store: 's', reason: 'r' })))(
      place.states.put.bind(place.states),
    )
    expect(await codesOf(session.release())).toBe('[TypeError: hook, backend_unavailable, store_unavailable]')
    fault = undefined
    expect((await host.acquire({ scope, waitMs: 0 })).branch).toBe('warm')
  })

  it('ends the snapshot when the caller does not wait for it, and keeps the sandbox', async () => {
    await using host = await faultyHost()
    const session = await host.acquire({ scope, afterRelease: 'destroy' })
    await session.files.write('only-copy.txt', 'precious')
    expect(await codesOf(session.release({ signal: AbortSignal.abort() }))).toBe('[aborted]')
    const again = await host.acquire({ scope, waitMs: 0 })
    expect(await again.files.readText('only-copy.txt')).toBe('precious')
  })
})

describe('who releases', () => {
  it('gives a second release during the first the same result, and lets nobody use the session meanwhile', async () => {
    await using host = await place.host()
    let open: () => void = () => undefined
    const gate = new Promise<void>((resolve) => (open = resolve))
    const session = await host.acquire({ scope, hooks: { preStop: () => gate } })
    const first = session.release({ afterRelease: 'destroy' })
    const second = session.release({ afterRelease: 'park' })
    expect(await codesOf(session.exec('true'))).toBe('not_running')
    open()
    expect(await second).toBe(await first)
    expect((await first).compute).toBe('destroyed')
    expect(host.host.sessions()).toEqual([])
  })

  it('touches nothing of a new owner when the lease was lost', async () => {
    await using host = await place.host()
    const session = await host.acquire({ scope, afterRelease: 'destroy' })
    await session.files.write('work.txt', 'mine')
    const [key = ''] = (await place.states.list('records/')).keys
    const value = (await place.states.get(key))?.value as object
    const theirs = { ...value, fence: '99', sessionId: 'of-another' }
    await place.states.put(key, theirs)
    const before = place.world.census()
    expect(await codesOf(session.release())).toMatch(/lease_lost/)
    expect((await place.states.get(key))?.value).toEqual(theirs)
    expect(place.world.census()).toEqual(before)
  })
})

describe('what a release leaves', () => {
  const manifest = { entries: { 'README.md': { kind: 'file', text: 'hello\n' } } } as const

  it.each([
    { after: 'park', compute: 'parked', branch: 'warm', sandboxes: 1 },
    { after: 'stop', compute: 'stopped', branch: 'warm', sandboxes: 1 },
    { after: 'destroy', compute: 'destroyed', branch: 'lost', sandboxes: 0 },
  ] as const)('$after: the next start is $branch', async ({ after, compute, branch, sandboxes }) => {
    await using host = await place.host()
    const session = await host.acquire({ scope, manifest })
    await session.files.write('work.txt', 'done')
    await session.files.remove('README.md')
    const kept = await session.spawn('while true; do sleep 1; done', { background: true, keepOnPark: true })
    const result = await session.release({ afterRelease: after })
    expect(result.compute).toBe(compute)
    expect(place.world.use.sandboxes).toBe(sandboxes)

    const again = await host.acquire({ scope, manifest })
    expect(again.branch).toBe(branch)
    expect(await again.files.readText('work.txt')).toBe('done')
    expect(await again.files.exists('README.md')).toBe(false)
    const running = (await again.processes.list()).filter(({ status }) => status === 'running').map(({ id }) => id)
    expect(running, 'only a parked sandbox keeps processes').toEqual(after === 'park' ? [kept.id] : [])
    await again.release()
    const seeded = await host.acquire({ snapshot: result.snapshot ?? (undefined as never), manifest })
    expect(seeded.branch).toBe('seeded')
    expect(await seeded.files.readText('work.txt')).toBe('done')
    expect(await seeded.files.readText('README.md'), 'a new session has all entries').toBe('hello\n')
  })

  it('destroys the least recently used of too many parked sandboxes, if it is still as this host parked it', async () => {
    await using host = await place.host({ maxParked: 2 })
    const use = async (session: string, on = host): Promise<string> => {
      const made = await on.acquire({ scope: { session }, manifest })
      await made.files.append('uses.txt', 'x')
      await made.release()
      return made.branch
    }
    const census = (): number => place.world.use.sandboxes
    expect([await use('a'), await use('b'), await use('a')]).toEqual(['cold', 'cold', 'warm'])
    expect([await use('c'), census()]).toEqual(['cold', 2])
    expect(await use('a'), 'b was used least recently').toBe('warm')
    expect([await use('b'), census()], 'c is gone, b restored').toEqual(['lost', 2])

    // Another host takes one of them up and parks it itself: it is no longer ours to destroy.
    await using other = await place.host()
    await use('a', other)
    expect([await use('d'), census()]).toEqual(['cold', 3])
    expect(await use('a', other)).toBe('warm')
    const look = await other.acquire({ scope: { session: 'a' } })
    expect(await look.files.readText('uses.txt')).toBe('x'.repeat(5))
  })

  it('does not destroy a parked sandbox that holds the only copy', async () => {
    await using host = await place.host({ maxParked: 0, snapshots: { kind: 'none' } })
    const session = await host.acquire({ scope })
    await session.files.write('only-copy.txt', 'precious')
    await session.release()
    expect(place.world.use.sandboxes).toBe(1)
    const again = await host.acquire({ scope })
    expect(await again.files.readText('only-copy.txt')).toBe('precious')
  })

  it('keeps a parked sandbox for as long as was said, and no longer', async () => {
    let nowMs = 1_800_000_000_000
    await using host = await place.host({ clock: { nowMs: () => nowMs, monotonicMs: () => performance.now() } })
    const session = await host.acquire({ scope, parkMs: 60_000 })
    await session.files.write('work.txt', 'done')
    await session.release()
    nowMs += 59_000
    expect(await host.host.reap({ graceMs: 0 })).toMatchObject({ removed: [], kept: [{ reason: 'parked' }] })
    nowMs += 2_000
    expect(await host.host.reap({ graceMs: 0 })).toMatchObject({ removed: [{ backend: 'memory' }], kept: [] })
    expect(place.world.use.sandboxes).toBe(0)
    const again = await host.acquire({ scope })
    expect(again.branch).toBe('lost')
    expect(await again.files.readText('work.txt')).toBe('done')
  })
})
