import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CrashPlace, endOf, startDriver } from './turn-driver.fixture.js'

const SEED = Number(process.env['COFFERDAM_SEED'] ?? 20_261_121)
const RANDOM_KILLS = Number(process.env['COFFERDAM_KILLS'] ?? 50)

let place: CrashPlace

beforeEach(() => {
  place = new CrashPlace()
})
afterEach(() => {
  for (const line of place.processes()) process.kill(Number(line.split(' ')[1]), 'SIGKILL')
  place.remove()
})

/** Turns that end in different ways, so that the next one starts on each branch. */
const HISTORIES = {
  cold: [],
  warm: [{ afterRelease: 'park' }],
  lost: [{ afterRelease: 'destroy' }],
} as const

async function pointsOf(history: keyof typeof HISTORIES): Promise<readonly string[]> {
  for (const job of HISTORIES[history]) await place.turn(job)
  const trace = join(place.folder, 'trace')
  await endOf(startDriver({ do: 'turn', folder: place.folder }, { COFFERDAM_FAILPOINT_TRACE: trace }))
  const names = new Set(readFileSync(trace, 'utf8').trim().split('\n'))
  rmSync(trace)
  return [...names].filter((name) => /^(acquire|start|release)\./.test(name))
}

describe.each(Object.keys(HISTORIES) as (keyof typeof HISTORIES)[])('killed in a turn that starts %s', (history) => {
  it(
    'goes on with the live workspace or the last snapshot, and reaping loses nothing',
    { timeout: 600_000 },
    async () => {
      const points = await pointsOf(history)
      expect(points.length, points.join(' ')).toBeGreaterThanOrEqual(12)
      for (const point of points) {
        place.remove()
        place = new CrashPlace()
        for (const job of HISTORIES[history]) await place.turn(job)
        const { killed } = await place.turn({}, point)
        expect(killed, `${point} was passed`).toBe(true)
        // Half of the points are reaped first: what nobody saved must be in a snapshot then.
        if (points.indexOf(point) % 2 === 0) expect((await place.reap('save')).failures, point).toEqual([])
        const { wrote } = place.progress()
        const seen = await place.look()
        const expected = wrote === 0 ? null : wrote
        expect(seen, `${point}, branch ${seen.branch}`).toMatchObject({ count: [expected, expected] })
        expect((await place.reap('discard')).failures).toEqual([])
        expect(place.leftovers(), point).toEqual([])
      }
    },
  )
})

describe('killed at any moment', () => {
  it(`loses nothing that was written (${RANDOM_KILLS} kills, seed ${SEED})`, { timeout: 900_000 }, async () => {
    let state = SEED
    const random = (below: number): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return Math.floor((state / 2 ** 32) * below)
    }
    let kills = 0
    for (let round = 0; kills < RANDOM_KILLS && round < RANDOM_KILLS * 4; round++) {
      const afterRelease = (['park', 'stop', 'destroy'] as const)[random(3)] ?? 'park'
      const child = startDriver({ do: 'turn', folder: place.folder, afterRelease })
      // The moment is random on purpose; it is counted from the first thing that the program does.
      let timer: NodeJS.Timeout | undefined
      const delayMs = random(120)
      child.stdout.once('data', () => (timer = setTimeout(() => child.kill('SIGKILL'), delayMs)))
      const { killed } = await endOf(child)
      clearTimeout(timer)
      if (killed) kills++
      if (round % 5 !== 4) continue
      if (random(2) === 0) expect((await place.reap('save')).failures).toEqual([])
      const { wrote, writing } = place.progress()
      const { count, branch } = await place.look()
      const [first, second] = count
      const at = `round ${round}, branch ${branch}, wrote ${wrote}, was writing ${writing}`
      expect(Number(first), at).toBeGreaterThanOrEqual(wrote)
      expect(Number(first), at).toBeLessThanOrEqual(writing)
      expect(Number(second), at).toBeGreaterThanOrEqual(wrote)
    }
    expect(kills).toBe(RANDOM_KILLS)
    expect((await place.reap('discard')).failures).toEqual([])
    expect(place.leftovers()).toEqual([])
  })
})

describe('reap', () => {
  it('keeps, saves or discards what a dead holder left, as it is told', { timeout: 120_000 }, async () => {
    expect((await place.turn({}, 'release.hooks')).killed).toBe(true)
    expect(place.processes().length, 'it left something running').toBeGreaterThan(0)
    expect(await place.reap('keep')).toMatchObject({ removed: [], failures: [] })
    expect(await place.reap('save')).toMatchObject({ kept: [], failures: [] })
    expect(place.leftovers()).toEqual([])
    expect((await place.look()).count).toEqual([1, 1])

    expect((await place.turn({}, 'release.hooks')).killed).toBe(true)
    expect(await place.reap('discard')).toMatchObject({ kept: [], failures: [] })
    expect(place.leftovers()).toEqual([])
    expect((await place.look()).count, 'only what was not saved is gone').toEqual([1, 1])
  })

  it('survives its own death at each point', { timeout: 180_000 }, async () => {
    for (const point of ['reap.judged', 'reap.saved', 'reap.deleted']) {
      await place.turn({}, 'release.hooks')
      const before = place.progress().wrote
      const { killed } = await endOf(
        startDriver({ do: 'reap', folder: place.folder, reap: { unsaved: 'save' } }, { COFFERDAM_FAILPOINT: point }),
      )
      expect(killed, point).toBe(true)
      expect((await place.reap('save')).failures, point).toEqual([])
      expect(place.leftovers(), point).toEqual([])
      expect((await place.look()).count, point).toEqual([before, before])
    }
  })
})

describe('a holder that stood still', () => {
  it('cannot write when it wakes up after another took the slot over', { timeout: 120_000 }, async () => {
    const child = startDriver({ do: 'hold', folder: place.folder, leaseTtlMs: 1_000 })
    const end = endOf(child)
    await new Promise<void>((resolve) => child.stdout.once('data', () => resolve()))
    child.kill('SIGSTOP')
    // The next holder waits for the lease of the first to run out.
    const { killed } = await place.turn({ leaseTtlMs: 1_000, afterRelease: 'park' })
    expect(killed).toBe(false)
    child.kill('SIGCONT')
    child.stdin.end('go\n')
    const { output } = await end
    const tried: unknown = JSON.parse(output.split('\n')[1] ?? '{}')
    expect(tried).toEqual({ write: 'lease_lost', exec: 'lease_lost', snapshot: 'lease_lost', release: 'lease_lost' })
    const { count } = await place.look()
    expect(count).toEqual([1, 1])
  })
})
