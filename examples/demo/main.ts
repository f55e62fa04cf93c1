/** The demo: an agent mends a small project in a sandbox, is killed in the middle of its next task, and another goes on. */
import { cp, mkdtemp, mkdir, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { diffFolders } from './diff-folders.js'
import { createTimeline } from './timeline.js'
import type { Timeline } from './timeline.js'
import { TASKS } from './tasks.js'
import { runWorker } from './run-worker.js'

const HELP = `usage: npm run demo -- [options]

An agent fixes the failing tests of examples/demo/project in a sandbox. In the middle of its second task its process is
killed with SIGKILL; another one takes the workspace over and finishes. The model is scripted: no network, no key.

  --backend NAME   where the sandbox lives (default and so far only: local)
  --keep           keep the data folder and the sandbox, and say where they are
  --json           one JSON object a line instead of the timeline
  --help           this text`

const BACKENDS = ['local']

async function main(): Promise<number> {
  const { values, problem } = readArguments()
  if (problem !== undefined) {
    process.stderr.write(`${problem}\n\n${HELP}\n`)
    return 2
  }
  if (values.help) {
    process.stdout.write(`${HELP}\n`)
    return 0
  }
  const dataDir = await realpath(await mkdtemp(join(tmpdir(), 'cofferdam-demo-')))
  const timeline = createTimeline({ json: values.json })
  try {
    await play(timeline, { dataDir, backend: values.backend, keep: values.keep })
    return 0
  } finally {
    if (values.keep) timeline.note(`kept: ${dataDir}`)
    else await rm(dataDir, { recursive: true, force: true })
  }
}

interface Arguments {
  readonly backend: string
  readonly keep: boolean
  readonly json: boolean
  readonly help: boolean
}

function readArguments(): { readonly values: Arguments; readonly problem?: string } {
  const defaults = { backend: 'local', keep: false, json: false, help: false }
  try {
    const { values } = parseArgs({
      options: {
        backend: { type: 'string', default: 'local' },
        keep: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
    if (!BACKENDS.includes(values.backend)) {
      return { values, problem: `there is no backend ${values.backend}; the demo knows ${BACKENDS.join(', ')}` }
    }
    return { values }
  } catch (error) {
    return { values: defaults, problem: error instanceof Error ? error.message : String(error) }
  }
}

async function play(
  timeline: Timeline,
  where: { readonly dataDir: string; readonly backend: string; readonly keep: boolean },
): Promise<void> {
  const { dataDir, backend, keep } = where
  const order = { dataDir, backend, afterRelease: 'park' } as const
  const project = join(dirname(fileURLToPath(import.meta.url)), 'project')
  timeline.note('the model is scripted; examples/demo/model.ts shows where a real one goes')

  timeline.title(TASKS.fix.title)
  await runWorker({ order: { task: 'fix', ...order }, onMessage: (message) => timeline.message(message) })

  timeline.title(TASKS.feature.title)
  await runWorker({
    order: { task: 'feature', ...order },
    onMessage: (message) => timeline.message(message),
    killMidway: true,
  })
  timeline.note('killed the worker with SIGKILL in the middle of its task; it could release and save nothing')

  timeline.title(TASKS.finish.title)
  const files = await runWorker({
    order: { task: 'finish', ...order, afterRelease: keep ? 'park' : 'destroy' },
    onMessage: (message) => timeline.message(message),
  })

  timeline.title('what changed in the workspace')
  const after = join(dataDir, 'after')
  await writeFiles(after, files)
  const before = join(dataDir, 'before')
  await cp(project, before, { recursive: true })
  timeline.diff(await diffFolders(before, after))

  timeline.title('where it lies')
  timeline.note(`backend ${backend}; records: ${join(dataDir, 'state')}; snapshots: ${join(dataDir, 'blobs')}`)
  timeline.note(`sandboxes: ${join(dataDir, 'local')} (run with --keep to look at them)`)
  timeline.end()
}

async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
}

process.exitCode = await main()
