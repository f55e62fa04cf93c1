/** Holds sessions of the local backend until a signal comes, in a process of its own. */
import { join } from 'node:path'
import { localBackend } from '@cofferdam/backend-local'
import { createHost } from '@cofferdam/core'

export interface SignalJob {
  readonly folder: string
  /** What the application itself does about signals. */
  readonly application: 'nothing' | 'once' | 'always'
  /** A hook at release that never ends, so that a drain runs into its bounds. */
  readonly stuck?: boolean
  readonly hosts?: number
}

const job = JSON.parse(process.argv[2] ?? '{}') as SignalJob
const logger = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }
const say = (line: string): void => void process.stdout.write(`${line}\n`)

const onSignal = (signal: NodeJS.Signals): void => {
  say(`application ${signal}`)
  // It ends by its own decision, after what it has to do is done.
  process.stdin.once('data', () => process.exit(7))
}
if (job.application === 'once') for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, onSignal)
if (job.application === 'always') for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, onSignal)

for (let index = 0; index < (job.hosts ?? 1); index++) {
  const host = await createHost({
    plugins: [localBackend({ root: join(job.folder, 'sandboxes') })],
    baseDir: job.folder,
    dataDir: join(job.folder, 'data'),
    logger,
  })
  host.onEvent((event) => {
    if (event.type === 'release.step' && event.step === 'lease') say(`released ${index}`)
    if (event.type === 'release.step' && event.step === 'hooks') say('hooks')
    if (event.type === 'session.status' && event.to === 'stopping') say('stopping')
  })
  const preStop = (): Promise<void> => {
    say('stuck')
    return new Promise(() => undefined)
  }
  const hooks = job.stuck === true ? { preStop } : {}
  const session = await host.acquire({ scope: { session: `signalled-${index}` }, hooks })
  await session.files.write('work.txt', `of ${index}`)
  await session.spawn('sleep 1000', { background: true })
  // Waits for a slot of this very host: a drain must not wait for it.
  void host
    .acquire({ scope: { session: `signalled-${index}` } })
    .catch((error: { code?: string }) => say(`waiter ${error.code}`))
}
say('ready')
process.stdin.resume()
