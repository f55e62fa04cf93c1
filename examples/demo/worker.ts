/**
 * One worker process of the demo: takes the slot, lets the agent do one task, gives the slot back. What it does is told to
 * its parent, one message a step. `main.ts` starts three, and kills the second one in the middle.
 */
import { fileURLToPath } from 'node:url'
import { dirname, join } from 'node:path'
import { localBackend } from '@cofferdam/backend-local'
import { filesystem, shell } from '@cofferdam/capabilities'
import { bindCapabilities, createHost } from '@cofferdam/core'
import type { SandboxEvent, SandboxSession } from '@cofferdam/core'
import { runAgent } from './agent.js'
import type { AgentStep } from './agent.js'
import { TASKS } from './tasks.js'
import type { TaskName } from './tasks.js'

/** What a worker is told, as JSON in its first argument. */
export interface WorkerOrder {
  readonly task: TaskName
  readonly backend: string
  readonly dataDir: string
  /** What becomes of the sandbox in the end. */
  readonly afterRelease: 'park' | 'destroy'
}

export type WorkerMessage =
  | {
      readonly kind: 'ready'
      readonly branch: string
      readonly durationMs: number
      readonly confinement: readonly string[]
      readonly workspace: string
    }
  | { readonly kind: 'step'; readonly step: AgentStep }
  | { readonly kind: 'event'; readonly text: string }
  | { readonly kind: 'midway' }
  | { readonly kind: 'done'; readonly said: string; readonly files: Readonly<Record<string, string>> }
  | {
      readonly kind: 'released'
      readonly snapshot: string | null
      readonly files: number
      readonly bytes: number
      readonly compute: string
      readonly durationMs: number
    }

const tell = (message: WorkerMessage): Promise<void> =>
  new Promise((resolve, reject) => {
    if (process.send === undefined) reject(new TypeError('start main.ts, not this file'))
    else process.send(message, (error: Error | null) => (error === null ? resolve() : reject(error)))
  })

async function work(order: WorkerOrder): Promise<void> {
  const here = dirname(fileURLToPath(import.meta.url))
  await using host = await createHost({
    plugins: [localBackend({ root: join(order.dataDir, 'local') })],
    defaultBackend: order.backend,
    baseDir: here,
    dataDir: order.dataDir,
    drainOnSignals: false,
  })
  host.onEvent((event) => void tellEvent(event))
  const startedMs = performance.now()
  const session = await host.acquire({
    scope: { session: 'demo' },
    manifest: {
      entries: { '.': { kind: 'local_dir', source: 'project' } },
      // The directory of the running node first, so that the tests run with the same one.
      environment: { PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin` },
    },
  })
  const { confinement } = await session.describe()
  const durationMs = performance.now() - startedMs
  await tell({ kind: 'ready', branch: session.branch, durationMs, confinement, workspace: session.workspaceRoot })
  await runTask(session, order.task)
  const releasedMs = performance.now()
  const { snapshot, compute } = await session.release({ afterRelease: order.afterRelease })
  await tell({
    kind: 'released',
    snapshot: snapshot?.id ?? null,
    files: snapshot?.files ?? 0,
    bytes: snapshot?.sizeBytes ?? 0,
    compute,
    durationMs: performance.now() - releasedMs,
  })
}

async function runTask(session: SandboxSession, name: TaskName): Promise<void> {
  const { task, model } = TASKS[name]
  const bound = await bindCapabilities([filesystem(), shell()], { session, logger: console, runAs: null })
  try {
    const said = await runAgent({
      model: model(),
      instructions: bound.instructions ?? '',
      tools: bound.tools,
      task,
      onStep: (step) => tell({ kind: 'step', step }),
    })
    if (name === 'feature') {
      await tell({ kind: 'midway' })
      // Works on until it is killed: this worker never gets to release its session.
      await session.exec('sleep 600', { timeoutMs: 0 })
    }
    await tell({ kind: 'done', said, files: await readProject(session) })
  } finally {
    await bound[Symbol.asyncDispose]()
  }
}

async function readProject(session: SandboxSession): Promise<Record<string, string>> {
  const { paths } = await session.files.glob('**/*')
  const contents = await Promise.all(paths.map(async (path) => [path, await session.files.readText(path)] as const))
  return Object.fromEntries(contents)
}

async function tellEvent(event: SandboxEvent): Promise<void> {
  if (event.type === 'acquire.claimed' && event.tookOver) {
    await tell({ kind: 'event', text: 'the slot was left behind by a worker that died; taking it over' })
  } else if (event.type === 'session.degraded') {
    await tell({ kind: 'event', text: event.reason })
  }
}

await work(JSON.parse(process.argv[2] ?? '{}') as WorkerOrder)
process.disconnect()
