/** Holds a slot while its event loop stands still, or while the clock jumps, and says what it could do afterwards. */
import { join } from 'node:path'
import { localBackend } from '@cofferdam/backend-local'
import { createHost } from '@cofferdam/core'

export interface StaleJob {
  readonly folder: string
  /** `blocked`: nothing of this process runs until a file appears. */
  readonly how: 'blocked' | 'forward' | 'backward'
}

const job = JSON.parse(process.argv[2] ?? '{}') as StaleJob
let skewMs = 0
const host = await createHost({
  plugins: [localBackend({ root: join(job.folder, 'sandboxes') })],
  baseDir: job.folder,
  dataDir: join(job.folder, 'data'),
  drainOnSignals: false,
  leaseTtlMs: 1_000,
  clock: { nowMs: () => Date.now() + skewMs, monotonicMs: () => performance.now() },
  logger: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
})
const session = await host.acquire({ scope: { session: 'stale' } })
await session.files.write('work.txt', 'of the first')
const { existsSync } = await import('node:fs')
process.stdout.write('holding\n')
const signal = join(job.folder, 'go')
if (job.how === 'blocked') {
  const still = new Int32Array(new SharedArrayBuffer(4))
  while (!existsSync(signal)) Atomics.wait(still, 0, 0, 20)
} else {
  skewMs = job.how === 'forward' ? 3_600_000 : -3_600_000
  await new Promise<void>((resolve) => process.stdin.once('data', () => resolve()))
}
const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: { code?: string; errors?: { code?: string }[] }) => error.code ?? error.errors?.[0]?.code ?? String(error),
  )
// At the first chance after it woke up, before any timer or event could tell it.
const tried = {
  exec: await codeOf(session.exec('echo late > work.txt')),
  write: await codeOf(session.files.write('work.txt', 'late')),
  background: await codeOf(session.spawn('sleep 100', { background: true }).then((each) => each.kill())),
  snapshot: await codeOf(session.snapshot()),
  release: await codeOf(session.release()),
}
process.stdout.write(`${JSON.stringify(tried)}\n`)
process.exit(0)
