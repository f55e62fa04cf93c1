// What other processes do to the stores in their tests: `node … store.driver.ts <job> <json>`.
// Talks in lines of JSON on the standard output.
import { appendFileSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { isSandboxError } from '../errors/sandbox-error.js'
import type { StateStore } from '../contracts/state-store.js'
import { createFolderBlobStore } from './folder-blob-store.js'
import { createFolderGuard } from './folder-guard.js'
import { createFolderStateStore } from './folder-state-store.js'
import type { RegisterOperation } from './linearizable.fixture.js'
import { seededRandom } from './seeded-random.fixture.js'

interface Job {
  readonly folder: string
  readonly seed: number
  readonly count: number
  readonly log: string
}

const jobs: Readonly<Record<string, (job: Job) => Promise<void>>> = { count, overwrite, history, blobs, hold, contend }
const [name = '', json = '{}'] = process.argv.slice(2)
await jobs[name]?.(JSON.parse(json) as Job)

function say(value: unknown): void {
  writeSync(1, `${JSON.stringify(value)}\n`)
}

/** Counts a value up by compare-and-set, and tells each number after it was written. */
async function count({ folder, count: last }: Job): Promise<void> {
  const store = createFolderStateStore({ folder })
  let entry = await store.get('k')
  for (let number = Number(entry?.value ?? 0) + 1; number <= last; number++) {
    await store.put('k', number, { ifVersion: entry?.version ?? null })
    say(number)
    entry = await store.get('k')
  }
}

/** Writes so often that old versions are removed, with a deletion in the middle. */
async function overwrite({ folder, count: times }: Job): Promise<void> {
  const store = createFolderStateStore({ folder, fsync: false })
  for (let round = 0; round < times; round++) {
    if (round === times >> 1) await store.delete('k')
    else await store.put('k', round)
  }
}

/** Random calls on two keys, and when each began and ended. */
async function history({ folder, seed, count: calls }: Job): Promise<void> {
  const random = seededRandom(seed)
  const store = createFolderStateStore({ folder, fsync: false })
  const known = new Map<string, string | null>()
  for (let call = 0; call < calls; call++) {
    const key = random() < 0.7 ? 'a' : 'b'
    const action = pick(random(), { get: 0.3, put: 0.55, delete: 0.15 })
    const isConditional = random() < 0.7
    const expected = isConditional ? (known.get(key) ?? null) : undefined
    const operation = await perform(store, { key, action, expected, value: `${seed}-${call}` })
    if (operation.version !== undefined) known.set(key, operation.version)
    say(operation)
  }
}

async function perform(
  store: StateStore,
  call: { key: string; action: RegisterOperation['action']; expected: string | null | undefined; value: string },
): Promise<RegisterOperation> {
  const { key, action, expected, value } = call
  const options = expected === undefined ? {} : { ifVersion: expected }
  const operation = { key, action, ...(expected === undefined ? {} : { expected }) }
  const start = now()
  try {
    if (action === 'get') {
      const entry = await store.get(key)
      return { ...operation, start, end: now(), version: entry?.version ?? null, value: entry?.value ?? null }
    }
    if (action === 'put') {
      const { version } = await store.put(key, value, options)
      return { ...operation, start, end: now(), version, value }
    }
    await store.delete(key, options)
    return { ...operation, start, end: now(), version: null }
  } catch (error) {
    if (!isSandboxError(error, 'state_conflict')) throw error
    return { ...operation, start, end: now(), conflict: true, version: error.details.actual }
  }
}

/** Puts blobs of one byte value each, over and over, and tells each that is there. */
async function blobs({ folder, count: last }: Job): Promise<void> {
  const store = createFolderBlobStore({ folder })
  for (let number = 1; number <= last; number++) {
    const source = async function* (): AsyncGenerator<Uint8Array> {
      for (let part = 0; part < 8; part++) yield new Uint8Array(100_000).fill(number)
    }
    await store.put(number % 2 === 0 ? 'a/even' : 'a/odd', source())
    say(number)
    if (number % 5 === 0) await store.delete('a/even')
  }
}

/** Holds a key until told otherwise, and says whether it still does for every line it is sent. */
async function hold({ folder, count: ttlMs }: Job): Promise<void> {
  const lease = await createFolderGuard({ folder }).enter('k', { ttlMs })
  say({ fence: String(lease.fence), held: lease.held() })
  for await (const _line of process.stdin) say({ held: lease.held(), lost: lease.lost.aborted })
}

/** Enters and leaves a key for ever, and logs every moment at which it believed that it held it. */
async function contend({ folder, seed, log }: Job): Promise<void> {
  const random = seededRandom(seed)
  const guard = createFolderGuard({ folder, fsync: false })
  for (;;) {
    const lease = await guard.enter('k', { ttlMs: 1000 })
    // Now and then for longer than the lease lasts without being renewed.
    const until = now() + (random() < 0.05 ? 1500 : random() * 120)
    for (let isLast = false; ;) {
      const before = now()
      const isHeld = lease.held()
      const after = now()
      if (isHeld) appendFileSync(log, `${lease.fence} ${before} ${after}\n`)
      if (!isHeld || isLast) break
      // Half of the time the event loop stands still.
      if (random() < 0.5) await sleep(1)
      // Like one who commits: a last look after all work is done, however long it took.
      isLast = now() >= until
    }
    await lease.release()
  }
}

function pick<T extends string>(random: number, weights: Readonly<Record<T, number>>): T {
  let left = random
  const names = Object.keys(weights) as T[]
  return names.find((each) => (left -= weights[each]) < 0) ?? (names[0] as T)
}

/** One clock for all processes of the machine. */
function now(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
