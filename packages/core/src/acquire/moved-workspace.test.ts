import { join } from 'node:path'
import { localBackend } from '@cofferdam/backend-local'
import { SandboxError } from '@cofferdam/core'
import type { SandboxEvent } from '@cofferdam/core'
import type { SandboxClient } from '@cofferdam/core/plugin'
import { createMemoryWorld, memoryBackend } from '@cofferdam/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { codesOf, faultyBackend } from './faults.fixture.js'
import { sharedStores, testPlace } from './test-host.fixture.js'
import type { TestPlace } from './test-host.fixture.js'

let place: TestPlace

beforeEach(async () => {
  place = await testPlace()
})
afterEach(() => place.remove())

const scope = { session: 'mover' }
const manifest = { entries: { 'README.md': { kind: 'file', text: 'hello\n' } } } as const

const degraded = (events: readonly SandboxEvent[]): string[] =>
  events.flatMap((event) => (event.type === 'session.degraded' ? [event.reason] : []))

/** Leaves a parked sandbox with work in it, and README.md removed on purpose. */
async function work(options: { readonly unsaved?: boolean } = {}): Promise<void> {
  await using host = await place.host()
  const session = await host.acquire({ scope, manifest })
  await session.files.write('work.txt', 'done')
  await session.files.remove('README.md')
  if (options.unsaved !== true) return void (await session.release())
  const put = place.blobs.put.bind(place.blobs)
  place.blobs.put = () =>
    Promise.reject(new SandboxError('store_unavailable', 'down', { store: 'test', reason: 'test' }))
  expect(await codesOf(session.release())).toMatch(/^\[/)
  place.blobs.put = put
}

describe('another plan', () => {
  it('carries the work over to a new sandbox and removes the old one', async () => {
    await work()
    const before = place.world.census()
    await using host = await place.host()
    // Memory sandboxes are made for one network plan.
    const session = await host.acquire({ scope, manifest, network: { kind: 'open' } })
    expect(await session.files.readText('work.txt')).toBe('done')
    expect(await session.files.exists('README.md'), 'what was removed on purpose stays away').toBe(false)
    expect(place.world.use.sandboxes).toBe(1)
    expect(place.world.census()).not.toEqual(before)
    expect(degraded(host.events)).toEqual([])
    await session.release()
    const again = await host.acquire({ scope, manifest, network: { kind: 'open' } })
    expect(again.branch).toBe('warm')
  })

  it('carries over what only the old sandbox holds', async () => {
    await work({ unsaved: true })
    await using host = await place.host()
    const session = await host.acquire({ scope, manifest, network: { kind: 'open' } })
    expect(await session.files.readText('work.txt')).toBe('done')
  })

  it('never saves a workspace that was being filled in place of a whole one', async () => {
    await work()
    // A holder died while it filled the workspace anew: the marker is gone and the files are half there.
    const [machine] = place.world.machines.values()
    if (machine === undefined) throw new TypeError('the sandbox is parked')
    await using other = await place.host({
      plugins: [
        faultyBackend(place.world, {
          client: (real) => ({
            resume: async (state, request, options) => {
              const sandbox = await real.resume(state, request, { ...options, plan: 'any' })
              await sandbox.start({ fence: 3n })
              await sandbox.files.remove(`${sandbox.paths.control}/ready`).catch(() => undefined)
              await sandbox.files.write(`${sandbox.paths.workspace}/work.txt`, new TextEncoder().encode('do'))
              if (options?.plan === 'any') return sandbox
              throw new SandboxError('plan_changed', 'other limits', { changed: ['limits'] })
            },
          }),
        }),
        sharedStores(place),
      ],
    })
    const session = await other.acquire({ scope, manifest })
    expect(await session.files.readText('work.txt')).toBe('done')
    expect(place.world.use.sandboxes).toBe(1)
  })

  it('keeps the old sandbox when its work cannot be saved', async () => {
    await work()
    await using host = await place.host()
    const put = place.blobs.put.bind(place.blobs)
    place.blobs.put = () =>
      Promise.reject(new SandboxError('store_unavailable', 'down', { store: 'test', reason: 'test' }))
    expect(await codesOf(host.acquire({ scope, manifest, network: { kind: 'open' } }))).toBe('store_unavailable')
    place.blobs.put = put
    const session = await host.acquire({ scope, manifest, waitMs: 0 })
    expect(session.branch).toBe('warm')
    expect(await session.files.readText('work.txt')).toBe('done')
  })

  it('says aloud that unsaved work is lost when the old sandbox is gone too', async () => {
    await work({ unsaved: true })
    place.world.machines.clear()
    await using host = await place.host({
      plugins: [memoryBackend(place.world), faultyBackend(createMemoryWorld(), { id: 'other' }), sharedStores(place)],
    })
    const session = await host.acquire({ scope, manifest, backend: 'other' })
    expect(session.backendId).toBe('other')
    expect(degraded(host.events)).toHaveLength(1)
  })
})

describe('another backend', () => {
  it('carries the work over from memory to local and back, and removes the old only after the commit', async () => {
    await work()
    const order: string[] = []
    const states = place.states
    const put = states.put.bind(states)
    states.put = async (key, value, options) => {
      const done = await put(key, value, options)
      order.push(`record ${(value as { phase: string; backend: string }).phase} ${(value as never)['backend']}`)
      return done
    }
    const watched = faultyBackend(place.world, {
      client: (real): Partial<SandboxClient> => ({
        delete: async (state, options) => {
          order.push('delete')
          await real.delete(state, options)
        },
      }),
    })
    await using host = await place.host({
      plugins: [watched, localBackend({ root: join(place.baseDir, 'sandboxes') }), sharedStores(place)],
    })
    const moved = await host.acquire({ scope, manifest, backend: 'local' })
    expect(moved.backendId).toBe('local')
    expect((await moved.execOrThrow('cat work.txt && echo more >> work.txt && ls')).stdout).toBe('donework.txt\n')
    expect(place.world.use.sandboxes).toBe(0)
    expect(order.indexOf('delete')).toBeGreaterThan(order.indexOf('record claimed local'))
    await moved.release()

    const back = await host.acquire({ scope, manifest, backend: 'memory', afterRelease: 'destroy' })
    expect(await back.files.readText('work.txt')).toBe('donemore\n')
    expect(await back.files.exists('README.md')).toBe(false)
    await back.release()
    const { removed, kept, failures } = await host.host.reap({ graceMs: 0 })
    expect({ removed, kept, failures }).toEqual({ removed: [], kept: [], failures: [] })
  })

  it('refuses to move what snapshots of kind none cannot carry, and leaves it where it is', async () => {
    const other = faultyBackend(createMemoryWorld(), { id: 'other' })
    await using host = await place.host({
      plugins: [memoryBackend(place.world), other, sharedStores(place)],
      snapshots: { kind: 'none' },
    })
    const session = await host.acquire({ scope, manifest })
    await session.files.write('work.txt', 'only copy')
    await session.release()
    expect(await codesOf(host.acquire({ scope, manifest, backend: 'other' }))).toBe('plan_changed')
    const again = await host.acquire({ scope, manifest, waitMs: 0 })
    expect(await again.files.readText('work.txt')).toBe('only copy')
  })
})

describe('a backend that does not reattach', () => {
  const forgetful = (): ReturnType<typeof faultyBackend> =>
    faultyBackend(place.world, {
      client: (real) => ({
        features: { ...real.features, reattach: false },
        resume: () =>
          Promise.reject(new SandboxError('unsupported_feature', 'no', { feature: 'reattach', reason: '' })),
      }),
      sandbox: (real) => ({ features: { ...real.features, reattach: false } }),
    })

  it('goes on from the snapshot, in a new sandbox, and leaves no old one', async () => {
    await using host = await place.host({ plugins: [forgetful(), sharedStores(place)] })
    const session = await host.acquire({ scope, manifest })
    await session.files.write('work.txt', 'done')
    expect((await session.release()).compute).toBe('stopped')
    const again = await host.acquire({ scope, manifest })
    expect(again.branch).toBe('lost')
    expect(await again.files.readText('work.txt')).toBe('done')
    expect(place.world.use.sandboxes).toBe(1)
    expect(degraded(host.events)).toEqual([])
  })
})

describe('a backend that fails', () => {
  it('loses nothing and frees the slot when it is not available', async () => {
    await work()
    let down = true
    const plugin = faultyBackend(place.world, {
      client: (real) => ({
        resume: (...of) =>
          down
            ? Promise.reject(new SandboxError('backend_unavailable', 'down', { backend: 'memory', reason: 'down' }))
            : real.resume(...of),
      }),
    })
    await using host = await place.host({ plugins: [plugin, sharedStores(place)] })
    const error: unknown = await host.acquire({ scope, manifest }).catch((caught: unknown) => caught)
    expect(error).toMatchObject({ code: 'backend_unavailable', retryable: true })
    down = false
    const session = await host.acquire({ scope, manifest, waitMs: 0 })
    expect(session.branch).toBe('warm')
    expect(await session.files.readText('work.txt')).toBe('done')
  })

  const unanswered = (on: () => boolean, listFails = false): ReturnType<typeof faultyBackend> =>
    faultyBackend(place.world, {
      client: (real) => ({
        create: async (...of) => {
          const sandbox = await real.create(...of)
          if (!on()) return sandbox
          throw new SandboxError('backend_unavailable', 'cut', { backend: 'memory', reason: 'the connection broke' })
        },
        list: (...of) => {
          if (!on() || !listFails) return real.list(...of)
          throw new SandboxError('backend_unavailable', 'cut', { backend: 'memory', reason: 'the connection broke' })
        },
      }),
    })

  it.each([{ scope }, {}])('removes a sandbox whose creation was not answered (%j)', async (request) => {
    let broken = true
    await using host = await place.host({ plugins: [unanswered(() => broken), sharedStores(place)] })
    expect(await codesOf(host.acquire({ ...request, manifest }))).toBe('backend_unavailable')
    expect(place.world.use.sandboxes).toBe(0)
    broken = false
    const session = await host.acquire({ ...request, manifest, waitMs: 0 })
    expect(session.branch).toBe('cold')
    await session.release({ afterRelease: 'destroy' })
    expect(place.world.use.sandboxes).toBe(0)
  })

  it.each([{ scope }, {}])('finds it again, or reaps it, when the provider stays silent (%j)', async (request) => {
    let broken = true
    await using host = await place.host({ plugins: [unanswered(() => broken, true), sharedStores(place)] })
    expect(await codesOf(host.acquire({ ...request, manifest }))).toBe('backend_unavailable')
    expect(place.world.use.sandboxes).toBe(1)
    broken = false
    if (Object.keys(request).length > 0) {
      const session = await host.acquire({ ...request, manifest, waitMs: 0 })
      expect(session.branch).toBe('cold')
      expect(place.world.use.sandboxes, 'never two').toBe(1)
      await session.release({ afterRelease: 'destroy' })
    } else expect((await host.host.reap({ graceMs: 0 })).failures).toEqual([])
    expect(place.world.use.sandboxes).toBe(0)
    expect((await place.states.list('records/')).keys).toHaveLength(Object.keys(request).length)
  })

  it('finds a sandbox again that a failed start could not remove', async () => {
    let broken = true
    const plugin = faultyBackend(place.world, {
      client: (real) => ({
        delete: async (...of) => {
          if (broken) throw new SandboxError('backend_unavailable', 'down', { backend: 'memory', reason: 'down' })
          await real.delete(...of)
        },
      }),
    })
    await using host = await place.host({ plugins: [plugin, sharedStores(place)] })
    const wrong = { entries: { a: { kind: 'local_file', source: 'not-there.txt' } } } as const
    expect(await codesOf(host.acquire({ scope, manifest: wrong }))).toBe('[not_found, backend_unavailable]')
    broken = false
    const session = await host.acquire({ scope, manifest, waitMs: 0 })
    expect(session.branch).toBe('cold')
    expect(place.world.use.sandboxes, 'never two').toBe(1)
  })
})
