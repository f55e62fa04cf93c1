import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Clock } from '../contracts/clock.js'
import { createFolderGuard } from './folder-guard.js'
import { FolderRegister } from './register/folder-register.js'
import { startDriver } from './run-driver.fixture.js'
import type { DriverProcess } from './run-driver.fixture.js'
import { chooseSeed, seededRandom } from './seeded-random.fixture.js'
import { withFolder } from './test-folder.fixture.js'

const CHAOS_MS = 12_000
/** Starting processes takes its time on a busy machine. */
const timeout = 120_000

describe('createFolderGuard', () => {
  it('hands a key over at once when its holder was killed', { timeout }, async () => {
    await withFolder(async (folder) => {
      const guard = createFolderGuard({ folder })
      const child = startDriver('hold', { folder, count: 60_000 })
      const held = (await child.next()) as { fence: string }
      const waiting = guard.enter('k')
      await child.kill()
      const killedAt = performance.now()
      const lease = await waiting
      expect(performance.now() - killedAt).toBeLessThan(5000)
      expect(lease.fence).toBeGreaterThan(BigInt(held.fence))
      await guard[Symbol.asyncDispose]()
    })
  })

  it('hands a key over when its holder stands still, who knows it at once when it goes on', { timeout }, async () => {
    await withFolder(async (folder) => {
      const child = startDriver('hold', { folder, count: 1000 })
      try {
        const held = (await child.next()) as { fence: string; held: boolean }
        expect(held.held).toBe(true)
        child.process.kill('SIGSTOP')
        const guard = createFolderGuard({ folder })
        await expect(guard.enter('k', { waitMs: 0 })).rejects.toMatchObject({ code: 'lease_timeout' })
        const lease = await guard.enter('k', { ttlMs: 1000 })
        expect(lease.fence).toBeGreaterThan(BigInt(held.fence))
        child.process.stdin?.write('?\n')
        child.process.kill('SIGCONT')
        expect(await child.next()).toMatchObject({ held: false })
        expect(lease.held()).toBe(true)
        await guard[Symbol.asyncDispose]()
      } finally {
        await child.kill()
      }
    })
  })

  it('knows that a lease has run out while the event loop stood still', async () => {
    await withFolder(async (folder) => {
      const guard = createFolderGuard({ folder })
      const lease = await guard.enter('k', { ttlMs: 1000 })
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)
      expect([lease.held(), lease.lost.aborted, lease.lost.reason.code]).toEqual([false, true, 'lease_lost'])
      const next = await guard.enter('k')
      expect([lease.held(), next.held()]).toEqual([false, true])
      await guard[Symbol.asyncDispose]()
    })
  })

  it('goes by the clock it is given, and never holds again what it has lost', async () => {
    await withFolder(async (folder) => {
      const clock = new HandClock()
      const guard = createFolderGuard({ folder, clock })
      const lease = await guard.enter('k', { ttlMs: 10_000 })
      clock.ms += 8_999
      expect(lease.held()).toBe(true)
      clock.ms += 1
      expect(lease.held()).toBe(false)
      clock.ms = 0
      expect(lease.held()).toBe(false)
      expect((await guard.enter('k')).fence).toBeGreaterThan(lease.fence)
      await guard[Symbol.asyncDispose]()
    })
  })

  it('keeps the order of arrival among processes', async () => {
    await withFolder(async (folder) => {
      const guard = createFolderGuard({ folder })
      const other = createFolderGuard({ folder })
      const lease = await guard.enter('k')
      const order: number[] = []
      const waiting: Array<Promise<void>> = []
      for (const [index, one] of [other, guard, other, guard].entries()) {
        waiting.push(one.enter('k').then((next) => (order.push(index), next.release())))
        await waitersIn(folder, index + 1)
      }
      await lease.release()
      await Promise.all(waiting)
      expect(order).toEqual([0, 1, 2, 3])
    })
  })

  it('passes over a waiter that stands still, and over one that was killed', { timeout }, async () => {
    await withFolder(async (folder) => {
      const guard = createFolderGuard({ folder })
      const lease = await guard.enter('k')
      const [still, dead] = [startDriver('hold', { folder, count: 1000 }), startDriver('hold', { folder, count: 1000 })]
      try {
        await waitersIn(folder, 2)
        const waiting = guard.enter('k')
        await waitersIn(folder, 3)
        still.process.kill('SIGSTOP')
        await dead.kill()
        await lease.release()
        expect((await waiting).held()).toBe(true)
        expect(still.lines).toEqual([])
        await guard[Symbol.asyncDispose]()
        still.process.kill('SIGCONT')
        expect(await still.next()).toMatchObject({ held: true })
      } finally {
        await Promise.all([still.kill(), dead.kill()])
      }
    })
  })

  it('never lets two believe that they hold a key, while processes are stopped and killed', { timeout }, async () => {
    const seed = chooseSeed('stopped and killed holders')
    const random = seededRandom(seed)
    await withFolder(async (folder) => {
      const options = { folder: join(folder, 'guard') }
      const logs: string[] = []
      const start = (): DriverProcess => {
        const log = join(folder, `log-${logs.length}`)
        logs.push(log)
        return startDriver('contend', { ...options, log, seed: seed + logs.length })
      }
      const children = [start(), start(), start(), start()]
      const deadline = performance.now() + CHAOS_MS
      let [stops, kills] = [0, 0]
      try {
        while (performance.now() < deadline) {
          // Not to wait for anything: this is the rhythm of the faults.
          await sleep(50 + random() * 300)
          // Mostly whoever holds the key, as nothing else is as dangerous.
          const holder = random() < 0.7 ? await holderOf(options.folder) : undefined
          const held = children.findIndex((each) => each.process.pid === holder)
          const victim = held === -1 ? Math.floor(random() * children.length) : held
          const child = children[victim] as DriverProcess
          if (child.process.exitCode !== null) expect(await child.ended).toBe('running')
          if (random() < 0.75) {
            stops++
            child.process.kill('SIGSTOP')
            // A holder for longer than its lease lasts, so that another comes in meanwhile.
            const stoppedMs = held === -1 ? random() * 200 : 1100 + random() * 500
            setTimeout(() => child.process.kill('SIGCONT'), stoppedMs)
          } else {
            kills++
            await child.kill()
            children[victim] = start()
          }
        }
      } finally {
        await Promise.all(children.map((child) => child.kill()))
      }
      const sightings = (await Promise.all(logs.map(readSightings))).flat()
      const fences = new Set(sightings.map(({ fence }) => fence))
      process.stdout.write(`${fences.size} leases seen, ${stops} stops, ${kills} kills\n`)
      expect(fences.size).toBeGreaterThan(8)
      expect(findOverlap(sightings), `seed ${seed}`).toBeUndefined()
      expect(findOverlap([...sightings, ...lateSighting(sightings)])).toBeDefined()

      const guard = createFolderGuard(options)
      const last = await guard.enter('k')
      expect(last.fence).toBeGreaterThan(sightings.reduce((most, { fence }) => (fence > most ? fence : most), 0n))
      await guard[Symbol.asyncDispose]()
    })
  })
})

/** A moment between `before` and `after` at which somebody believed that the lease with this fence was theirs. */
interface Sighting {
  readonly fence: bigint
  readonly before: number
  readonly after: number
  readonly log: string
}

async function readSightings(log: string): Promise<Sighting[]> {
  const text = await readFile(log, 'utf8').catch(() => '')
  // The last line may have been cut off by a kill.
  const lines = text.split('\n').slice(0, -1)
  return lines.map((line) => {
    const [fence = '0', before, after] = line.split(' ')
    return { fence: BigInt(fence), before: Number(before), after: Number(after), log }
  })
}

/** Two that held at once: one fence held by two, or an older one surely seen held after a newer one. */
function findOverlap(sightings: readonly Sighting[]): readonly Sighting[] | undefined {
  const owners = new Map<bigint, Sighting>()
  for (const sighting of sightings) {
    const owner = owners.get(sighting.fence) ?? sighting
    owners.set(sighting.fence, owner)
    if (owner.log !== sighting.log) return [owner, sighting]
  }
  const byStart = [...sightings].sort((a, b) => a.before - b.before)
  const byEnd = [...sightings].sort((a, b) => a.after - b.after)
  let newest: Sighting | undefined
  let ended = 0
  for (const sighting of byStart) {
    for (; (byEnd[ended]?.after ?? Infinity) < sighting.before; ended++) {
      const one = byEnd[ended] as Sighting
      if (newest === undefined || one.fence > newest.fence) newest = one
    }
    if (newest !== undefined && newest.fence > sighting.fence) return [newest, sighting]
  }
  return undefined
}

/** What the check must find: the first holder, at the end. */
function lateSighting(sightings: readonly Sighting[]): Sighting[] {
  const [first] = [...sightings].sort((a, b) => a.after - b.after)
  const end = Math.max(...sightings.map(({ after }) => after))
  return first === undefined ? [] : [{ ...first, before: end + 1, after: end + 2 }]
}

class HandClock implements Clock {
  ms = 0

  nowMs(): number {
    return this.ms
  }

  monotonicMs(): number {
    return this.ms
  }
}

/** The process that a key's record names as its holder. */
async function holderOf(folder: string): Promise<number | undefined> {
  const state = await new FolderRegister({ folder, fsync: false, store: 'test' }).read('k')
  if (state === undefined || 'corrupt' in state) return undefined
  const { holder } = JSON.parse(state.text ?? '{}') as { holder?: { owner: { pid: number } } | null }
  return holder?.owner.pid
}

/** Resolves when that many wait for a key. */
async function waitersIn(folder: string, count: number): Promise<void> {
  const register = new FolderRegister({ folder, fsync: false, store: 'test' })
  for (;;) {
    const state = await register.read('k')
    if (state === undefined || 'corrupt' in state) throw new TypeError('there is no lease')
    if ((JSON.parse(state.text ?? '{}') as { queue: unknown[] }).queue.length === count) return
    await register.changed('k', state.number, { timeoutMs: 100 })
  }
}
