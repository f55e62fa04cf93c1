import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isSandboxError } from '@cofferdam/core'
import type { JsonValue, SandboxErrorCode } from '@cofferdam/core'
import { testPlace } from './test-host.fixture.js'
import type { TestPlace } from './test-host.fixture.js'

let place: TestPlace

beforeEach(async () => {
  place = await testPlace()
})
afterEach(() => place.remove())

const scope = { session: 'chat-42' }
const manifest = { entries: { 'README.md': { kind: 'file', text: 'hello\n' } } } as const

async function codeOf(work: Promise<unknown>): Promise<SandboxErrorCode | string> {
  try {
    await work
    return 'no error'
  } catch (error) {
    if (error instanceof AggregateError)
      return `aggregate of ${error.errors.map((each) => (isSandboxError(each) ? each.code : String(each))).join(', ')}`
    return isSandboxError(error) ? error.code : String(error)
  }
}

describe('the four branches', () => {
  it('fills a new workspace cold, and finds it again warm, with what was changed', async () => {
    await using first = await place.host()
    const session = await first.acquire({ scope, manifest })
    expect(session.branch).toBe('cold')
    expect(session.status).toBe('ready')
    expect(await session.files.readText('README.md')).toBe('hello\n')
    await session.files.write('notes/today.txt', 'work')
    await session.files.remove('README.md')
    const released = await session.release()
    expect(released.compute).toBe('parked')
    expect(session.status).toBe('closed')

    await using second = await place.host()
    const again = await second.acquire({ scope, manifest })
    expect(again.branch).toBe('warm')
    expect(again.id).toBe(session.id)
    expect(await again.files.readText('notes/today.txt')).toBe('work')
    expect(await again.files.exists('README.md'), 'what was removed on purpose stays away').toBe(false)
  })

  it('restores the last snapshot when the sandbox is gone', async () => {
    await using first = await place.host()
    const session = await first.acquire({ scope, manifest, afterRelease: 'destroy' })
    await session.files.write('work.txt', 'saved')
    const { snapshot, compute } = await session.release()
    expect(compute).toBe('destroyed')
    expect(snapshot).not.toBeNull()

    const again = await first.acquire({ scope, manifest })
    expect(again.branch).toBe('lost')
    expect(await again.files.readText('work.txt')).toBe('saved')
    expect(
      first.events.some(({ type }) => type === 'session.degraded'),
      'nothing was lost',
    ).toBe(false)
  })

  it('seeds a new slot from a snapshot and adds what it does not hold', async () => {
    await using host = await place.host()
    const session = await host.acquire({ scope, manifest })
    await session.files.write('README.md', 'changed')
    const snapshot = (await session.release()).snapshot
    if (snapshot === null) throw new TypeError('there is a snapshot')

    const entries = { ...manifest.entries, 'extra.txt': { kind: 'file', text: 'new' } } as const
    const seeded = await host.acquire({ scope: { session: 'other' }, snapshot, manifest: { entries } })
    expect(seeded.branch).toBe('seeded')
    expect(await seeded.files.readText('README.md')).toBe('changed')
    expect(await seeded.files.readText('extra.txt')).toBe('new')
  })

  it('makes ephemeral entries anew at every start and keeps them out of snapshots', async () => {
    await using host = await place.host()
    const entries = { 'token.txt': { kind: 'file', text: 'v1', ephemeral: true } } as const
    const session = await host.acquire({ scope, manifest: { entries }, afterRelease: 'destroy' })
    expect((await session.release()).snapshot?.files).toBe(0)
    const renewed = { 'token.txt': { kind: 'file', text: 'v2', ephemeral: true } } as const
    const again = await host.acquire({ scope, manifest: { entries: renewed } })
    expect(await again.files.readText('token.txt')).toBe('v2')
  })
})

describe('slots', () => {
  it('gives one slot to one at a time, and says busy to who will not wait', async () => {
    await using host = await place.host()
    const session = await host.acquire({ scope })
    expect(await codeOf(host.acquire({ scope, waitMs: 0 }))).toBe('busy')
    const waiting = host.acquire({ scope })
    await session.release()
    const next = await waiting
    expect(next.branch).toBe('warm')
  })

  it('keeps scopes with look-alike values apart', async () => {
    await using host = await place.host()
    const scopes = [
      { session: 'a' },
      { user: 'a' },
      { agent: 'a' },
      { global: true },
      { session: 'a', tenant: 'a' },
      { session: 'a/4:user', tenant: '' },
    ] as const
    const sessions = []
    for (const each of scopes) sessions.push(await host.acquire({ scope: each, waitMs: 0 }))
    expect(new Set(sessions.map(({ slot }) => slot)).size).toBe(scopes.length)
  })

  it('decides about a scope without its value as asked', async () => {
    await using host = await place.host()
    const user = undefined
    const fresh = await host.acquire({ scope: { user } })
    expect(fresh.slot).toMatch(/^sessions\//)
    expect(host.events.find(({ type }) => type === 'scope.missing_key')).toMatchObject({
      scope: 'user',
      policy: 'fresh',
    })
    expect(await codeOf(host.acquire({ scope: { user }, onMissingKey: 'error' }))).toBe('invalid_argument')
    const fallback = await host.acquire({ scope: { user }, onMissingKey: 'fallback', fallbackSession: 'chat-1' })
    expect(fallback.slot).toBe('slots/0:/7:session/6:chat-1/')
  })

  it('shares one live session among handles; the last release ends it', async () => {
    await using host = await place.host()
    const one = await host.acquire({ scope, concurrency: 'share' })
    const two = await host.acquire({ scope, concurrency: 'share' })
    await one.files.write('shared.txt', 'x')
    expect(await two.files.readText('shared.txt')).toBe('x')
    expect((await one.release()).compute).toBe('left')
    expect(await codeOf(one.exec('true'))).toBe('not_running')
    expect(await codeOf(host.acquire({ scope, manifest, concurrency: 'share' }))).toBe('plan_changed')
    expect((await two.exec('echo still here')).stdout).toBe('still here\n')
    expect((await two.release()).compute).toBe('parked')
  })

  it('lets a fork win when nobody moved the slot, and lose with its work kept when somebody did', async () => {
    await using host = await place.host()
    const base = await host.acquire({ scope, manifest })
    await base.release()

    const winner = await host.acquire({ scope, concurrency: 'fork' })
    await winner.files.write('fork.txt', 'won')
    await winner.release()
    const after = await host.acquire({ scope })
    expect(await after.files.readText('fork.txt')).toBe('won')
    await after.release()

    const loser = await host.acquire({ scope, concurrency: 'fork' })
    const exclusive = await host.acquire({ scope })
    await loser.files.write('fork.txt', 'lost')
    const error: unknown = await loser.release().catch((caught: unknown) => caught)
    if (!isSandboxError(error, 'state_conflict')) throw error
    const snapshot = error.details.snapshot
    await exclusive.release()
    const rescued = await host.acquire({ snapshot: snapshot as never })
    expect(await rescued.files.readText('fork.txt')).toBe('lost')
    const owner = await host.acquire({ scope })
    expect(await owner.files.readText('fork.txt')).toBe('won')
  })
})

describe('sources', () => {
  it('borrows a live session and leaves it as it is', async () => {
    await using host = await place.host()
    const mine = await host.acquire({ scope })
    const borrowed = await host.acquire({ session: mine, manifest })
    expect(borrowed.ownership).toBe('borrowed')
    expect(await mine.files.readText('README.md')).toBe('hello\n')
    const { snapshot, state } = await borrowed.release({ onRelease: 'persist' })
    expect(snapshot).not.toBeNull()
    expect(state).toBeNull()
    expect(mine.status).toBe('ready')
    expect(await codeOf(borrowed.exec('true'))).toBe('not_running')
  })

  it('goes on from a returned state, also on another host', async () => {
    await using host = await place.host()
    const session = await host.acquire({ manifest })
    await session.files.write('work.txt', 'kept')
    const { state } = await session.release()
    await using other = await place.host()
    const again = await other.acquire({ state: JSON.parse(JSON.stringify(state)) as never })
    expect(again.id).toBe(session.id)
    expect(await again.files.readText('work.txt')).toBe('kept')
  })

  it('refuses states that are nested without end', async () => {
    await using host = await place.host({ stateKey: new Uint8Array(32) })
    let sandbox: JsonValue = 1
    for (let i = 0; i < 30_000; i++) sandbox = [sandbox]
    expect(await codeOf(host.acquire({ state: { version: 1, sandbox } }))).toBe('state_corrupt')
  })

  it('refuses states that were tampered with, and unsigned ones where there is a key', async () => {
    const stateKey = new Uint8Array(32).fill(7)
    await using host = await place.host({ stateKey })
    const session = await host.acquire({ manifest })
    const { state } = await session.release()
    const changes = [
      { slot: 'slots/0:/4:user/3:ada/' },
      { mac: null },
      { version: 2 },
      { extra: 1 },
      { sandbox: { name: '../../etc' } },
    ]
    for (const change of changes) {
      const code = await codeOf(host.acquire({ state: { ...state, ...change } as never }))
      expect(code, JSON.stringify(change)).toBe('version' in change ? 'state_version_unsupported' : 'state_corrupt')
    }
    expect((await host.acquire({ state: state as never })).id).toBe(session.id)
  })
})

describe('records', () => {
  it('treats a record that cannot be read as an error, never as none', async () => {
    await using host = await place.host()
    const session = await host.acquire({ scope, manifest })
    await session.release()
    const { keys } = await place.states.list('records/')
    const key = keys[0] ?? ''
    await place.states.put(key, { version: 1, nonsense: true })
    expect(await codeOf(host.acquire({ scope }))).toBe('state_corrupt')
    await place.states.put(key, { version: 99 })
    expect(await codeOf(host.acquire({ scope }))).toBe('state_version_unsupported')
    expect((await place.states.get(key))?.value).toEqual({ version: 99 })
  })

  it('refuses the writes and commands of a holder that was overtaken', async () => {
    await using host = await place.host()
    const session = await host.acquire({ scope, manifest })
    const { keys } = await place.states.list('records/')
    const entry = await place.states.get(keys[0] ?? '')
    // Somebody else claims the slot while this holder believes that it has it.
    await place.states.put(keys[0] ?? '', { ...(entry?.value as object), fence: '99' })
    expect(await codeOf(session.snapshot())).toBe('lease_lost')
    expect(session.lost.aborted).toBe(true)
    expect(await codeOf(session.exec('true'))).toBe('lease_lost')
    expect(await codeOf(session.files.write('x', 'y'))).toBe('lease_lost')
    expect(await codeOf(session.release())).toBe('aggregate of lease_lost')
  })

  it('believes no pin that reaches for the work of a slot', async () => {
    await using host = await place.host()
    const session = await host.acquire({ scope, manifest })
    const { snapshot } = await session.release({ afterRelease: 'destroy' })
    await place.states.put('forks/000000000000001-evil', { slot: session.slot, snapshot: { ...snapshot } } as never)
    expect((await host.host.reap()).failures).toMatchObject([{ code: 'state_corrupt' }])
    const again = await host.acquire({ scope, manifest })
    expect(again.branch).toBe('lost')
  })

  it('keeps no record of a session without a scope that left nothing', async () => {
    await using host = await place.host()
    for (let i = 0; i < 3; i++) {
      const session = await host.acquire({ snapshots: { kind: 'none' }, afterRelease: 'destroy' })
      await session.release()
    }
    expect((await place.states.list('')).keys).toEqual([])
    expect(place.world.use.sandboxes).toBe(0)
  })
})

describe('failures', () => {
  it('takes a start that failed back: nothing lives, and the slot is free', async () => {
    await using host = await place.host()
    const broken = { entries: { 'a.txt': { kind: 'local_file', source: 'not-there.txt' } } } as const
    expect(await codeOf(host.acquire({ scope, manifest: broken }))).toBe('not_found')
    expect(place.world.use.sandboxes).toBe(0)
    const session = await host.acquire({ scope, manifest, waitMs: 0 })
    expect(session.branch).toBe('cold')
  })

  it('keeps the sandbox, and says so, when the snapshot cannot be taken', async () => {
    await using host = await place.host()
    const session = await host.acquire({ scope, manifest, afterRelease: 'destroy' })
    await session.files.write('only-copy.txt', 'precious')
    const put = place.blobs.put.bind(place.blobs)
    place.blobs.put = () => Promise.reject(new Error('the blob store is down'))
    await expect(session.release()).rejects.toThrow(AggregateError)
    place.blobs.put = put
    expect(place.world.use.sandboxes).toBe(1)
    expect(host.events.some(({ type }) => type === 'release.unsaved')).toBe(true)

    const { removed, failures } = await host.host.reap({ graceMs: 0 })
    expect(failures).toEqual([])
    expect(removed).toHaveLength(1)
    const again = await host.acquire({ scope })
    expect(await again.files.readText('only-copy.txt')).toBe('precious')
  })

  it('collects what hooks throw at release and goes on', async () => {
    await using host = await place.host()
    const session = await host.acquire({
      scope,
      manifest,
      hooks: { preStop: () => Promise.reject(new TypeError('hook')) },
    })
    expect(await codeOf(session.release())).toBe('aggregate of TypeError: hook')
    expect((await host.acquire({ scope, waitMs: 0 })).branch).toBe('warm')
  })

  it('runs hooks with a session that works', async () => {
    await using host = await place.host()
    const seen: string[] = []
    const session = await host.acquire({
      scope,
      manifest,
      hooks: {
        afterStart: async (started) => void seen.push(await started.files.readText('README.md')),
        preStop: async (stopping) => void seen.push((await stopping.exec('echo bye')).stdout),
      },
    })
    await session.release()
    expect(seen).toEqual(['hello\n', 'bye\n'])
  })

  it('releases once, whoever asks and however often', async () => {
    await using host = await place.host()
    const session = await host.acquire({ scope, manifest })
    const results = await Promise.all(Array.from({ length: 10 }, () => session.release()))
    expect(new Set(results).size).toBe(1)
    expect(await codeOf(session.exec('true'))).toBe('not_running')
  })

  it('stops at once when the signal has fired', async () => {
    await using host = await place.host()
    expect(await codeOf(host.acquire({ scope, signal: AbortSignal.abort() }))).toBe('aborted')
    expect(place.world.use.sandboxes).toBe(0)
  })
})

describe('background processes', () => {
  it('ends them at release, but for those to keep while parked', async () => {
    await using host = await place.host()
    const session = await host.acquire({ scope })
    const kept = await session.spawn('while true; do sleep 1; done', { background: true, keepOnPark: true })
    const ended = await session.spawn('while true; do sleep 1; done', { background: true })
    await session.release()
    const again = await host.acquire({ scope })
    const status = new Map((await again.processes.list()).map((info) => [info.id, info.status]))
    expect(status.get(kept.id)).toBe('running')
    expect(status.get(ended.id)).not.toBe('running')
  })

  it('reads their output by offset', async () => {
    await using host = await place.host()
    const session = await host.acquire({ scope })
    const { id } = await session.spawn('echo one; read line; echo "got $line"', { background: true, stdin: 'pipe' })
    const first = await session.processes.readOutput(id, { waitMs: 5_000 })
    expect(first.text).toBe('one\n')
    await session.processes.writeInput(id, 'two\n')
    const second = await session.processes.readOutput(id, { fromOffset: first.nextOffset, waitMs: 5_000 })
    expect(second.text).toBe('got two\n')
    expect(second.droppedBytes).toBe(0)
  })
})
