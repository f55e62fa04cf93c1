/** Plays turns on one slot of the local backend, in a process that a test may kill at any moment. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { localBackend } from '@cofferdam/backend-local'
import { createHost } from '@cofferdam/core'
import type { AcquireRequest, Host, ReapRequest, SandboxSession } from '@cofferdam/core'

export interface TurnJob {
  readonly folder: string
  readonly do: 'turn' | 'look' | 'reap' | 'hold'
  readonly afterRelease?: 'park' | 'stop' | 'destroy'
  readonly reap?: ReapRequest
  readonly leaseTtlMs?: number
}

/** What `look` found. */
export interface Seen {
  readonly branch: string
  /** The number that every turn adds one to, in two files; null where they are not there. */
  readonly count: readonly [first: number | null, second: number | null]
}

const SCOPE = { session: 'crash' }
const manifest = { entries: { 'begin.txt': { kind: 'file', text: '0' } } } as const
const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }

function open(job: TurnJob): Promise<Host> {
  return createHost({
    plugins: [localBackend({ root: join(job.folder, 'sandboxes') })],
    baseDir: job.folder,
    dataDir: join(job.folder, 'data'),
    drainOnSignals: false,
    logger: silent,
    ...(job.leaseTtlMs === undefined ? {} : { leaseTtlMs: job.leaseTtlMs }),
  })
}

async function read(session: SandboxSession, path: string): Promise<number | null> {
  return (await session.files.exists(path)) ? Number(await session.files.readText(path)) : null
}

/** Both files carry the same number, except while this runs. */
async function count(job: TurnJob, session: SandboxSession): Promise<void> {
  const next = ((await read(session, 'first.txt')) ?? 0) + 1
  appendFileSync(join(job.folder, 'progress'), `writing ${next}\n`)
  await session.files.write('first.txt', String(next))
  await session.exec(`printf %s ${next} > second.txt`)
  appendFileSync(join(job.folder, 'progress'), `wrote ${next}\n`)
}

async function turn(job: TurnJob): Promise<void> {
  process.stdout.write('begun\n')
  const host = await open(job)
  const request: AcquireRequest = job.afterRelease === undefined ? {} : { afterRelease: job.afterRelease }
  const session = await host.acquire({ scope: SCOPE, manifest, ...request })
  // Something that a dead host leaves running.
  await session.spawn('sleep 1000', { background: true })
  await count(job, session)
  const { snapshot } = await session.release()
  appendFileSync(join(job.folder, 'progress'), `committed ${snapshot?.files ?? 0}\n`)
  await host.drain()
}

async function look(job: TurnJob): Promise<Seen> {
  const host = await open(job)
  const session = await host.acquire({ scope: SCOPE, manifest })
  const seen: Seen = {
    branch: session.branch,
    count: [await read(session, 'first.txt'), await read(session, 'second.txt')],
  }
  await session.release({ afterRelease: 'destroy' })
  await host.drain()
  return seen
}

/** Holds the slot until it is told to try to write, and says what came of that. */
async function hold(job: TurnJob): Promise<void> {
  const host = await open(job)
  const session = await host.acquire({ scope: SCOPE, manifest })
  process.stdout.write('holding\n')
  await new Promise<void>((resolve) => process.stdin.once('data', () => resolve()))
  const codeOf = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'done',
      (error: { code?: string; errors?: { code?: string }[] }) =>
        error.code ?? error.errors?.[0]?.code ?? String(error),
    )
  const tried = {
    write: await codeOf(session.files.write('late.txt', 'late')),
    exec: await codeOf(session.exec('echo late > late.txt')),
    snapshot: await codeOf(session.snapshot()),
    release: await codeOf(session.release()),
  }
  process.stdout.write(`${JSON.stringify(tried)}\n`)
  process.exit(0)
}

const job = JSON.parse(process.argv[2] ?? '{}') as TurnJob
if (job.do === 'turn') await turn(job)
else if (job.do === 'hold') await hold(job)
else if (job.do === 'look') process.stdout.write(JSON.stringify(await look(job)))
else {
  const host = await open(job)
  const { removed, kept, failures } = await host.reap({ graceMs: 0, ...job.reap })
  await host.drain()
  process.stdout.write(JSON.stringify({ removed, kept, failures: failures.map(String) }))
}
