/** Plays turns on one slot that other processes want as well; a test may kill it at any moment. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { localBackend } from '@cofferdam/backend-local'
import { createHost } from '@cofferdam/core'

export interface ContentionJob {
  readonly folder: string
  readonly name: string
  readonly turns: number
  readonly afterRelease: 'park' | 'destroy'
}

const job = JSON.parse(process.argv[2] ?? '{}') as ContentionJob
const logger = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }
const host = await createHost({
  plugins: [localBackend({ root: join(job.folder, 'sandboxes') })],
  baseDir: job.folder,
  dataDir: join(job.folder, 'data'),
  drainOnSignals: false,
  logger,
})
const note = (line: string): void => appendFileSync(join(job.folder, 'progress'), `${line}\n`)
process.stdout.write('begun\n')
for (let turn = 0; turn < job.turns; turn++) {
  const session = await host.acquire({ scope: { session: 'contended' }, afterRelease: job.afterRelease })
  const line = `${job.name}-${process.pid}-${turn}`
  note(`begin ${line}`)
  // Read, think, write: whoever overlaps loses or doubles a line.
  const before = (await session.files.exists('log.txt')) ? await session.files.readText('log.txt') : ''
  const number = before.split('\n').length
  await session.files.write('log.txt', `${before}${number} ${line}\n`)
  note(`wrote ${line}`)
  await session.release()
  note(`committed ${line}`)
}
await host.drain()
