import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { WorkerMessage, WorkerOrder } from './worker.js'

export interface RunWorkerRequest {
  readonly order: WorkerOrder
  readonly onMessage: (message: WorkerMessage) => void
  /** Kill it, as hard as can be, when it says that it is in the middle. */
  readonly killMidway?: boolean
}

/** Runs one worker to its end and returns the files that it left. */
export async function runWorker(request: RunWorkerRequest): Promise<Readonly<Record<string, string>>> {
  const program = fileURLToPath(new URL('./worker.ts', import.meta.url))
  const child = fork(program, [JSON.stringify(request.order)], {
    execArgv: process.execArgv,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  let files: Readonly<Record<string, string>> = {}
  child.on('message', (message: WorkerMessage) => {
    request.onMessage(message)
    if (message.kind === 'done') files = message.files
    if (message.kind === 'midway' && request.killMidway === true) child.kill('SIGKILL')
  })
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (exitCode, exitSignal) => resolve([exitCode, exitSignal]))
  })
  const killed = request.killMidway === true && signal === 'SIGKILL'
  if (code !== 0 && !killed) throw new TypeError(`the worker ended with ${String(signal ?? code)}`)
  return files
}
