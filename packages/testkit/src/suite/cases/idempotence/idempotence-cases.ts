import type { Sandbox } from '@cofferdam/core/plugin'
import { assertEqual } from '../../assertions.js'
import { backendCases } from '../../backend-case.js'
import type { BackendCase, BackendRow } from '../../backend-case.js'
import type { BackendContext } from '../../backend-context.js'

const TIMES = 10

type End = (context: BackendContext, sandbox: Sandbox) => Promise<void>

/** What may be called again and again, in any state, and what is true after it. */
const ENDS: readonly (readonly [name: string, presence: 'stopped' | 'absent' | 'running', end: End])[] = [
  ['delete', 'absent', (context, sandbox) => context.client.delete(sandbox.state)],
  ['stop', 'stopped', (_context, sandbox) => sandbox.stop()],
  ['shutdown', 'absent', (_context, sandbox) => sandbox.shutdown()],
  ['dispose', 'running', async (_context, sandbox) => sandbox[Symbol.asyncDispose]()],
]

const rows: BackendRow[] = ENDS.flatMap(([name, presence, end]): BackendRow[] => {
  const probe = async (context: BackendContext, sandbox: Sandbox): Promise<void> => {
    const seen = await context.client.probe(sandbox.state)
    // Without a workspace that survives a stop, a provider may let go of everything.
    if (presence === 'stopped' && !context.features.persistentWorkspace && seen === 'absent') return
    assertEqual(seen, presence, `probe after ${name}`)
  }
  return [
    [
      'IDEM-1',
      `${name}.sequential`,
      `${name} succeeds ${TIMES} times, one after the other`,
      async (context) => {
        const sandbox = await context.sandbox()
        for (let time = 0; time < TIMES; time++) await context.within(`${name} ${time}`, end(context, sandbox))
        await probe(context, sandbox)
      },
    ],
    [
      'IDEM-1',
      `${name}.concurrent`,
      `${name} succeeds ${TIMES} times at once`,
      async (context) => {
        const sandbox = await context.sandbox()
        await context.within(name, Promise.all(Array.from({ length: TIMES }, () => end(context, sandbox))))
        await probe(context, sandbox)
      },
    ],
    [
      'IDEM-1',
      `${name}.during-exec`,
      `${name} succeeds ${TIMES} times while commands run and write`,
      async (context) => {
        const sandbox = await context.sandbox()
        const processes = await Promise.all(
          Array.from({ length: 3 }, () => context.spawn(sandbox, 'while true; do echo x >> busy; done')),
        )
        for (const process of processes)
          void Promise.allSettled([process.stdout.cancel(), process.stderr.cancel(), process.wait()])
        await context.within(name, Promise.all(Array.from({ length: TIMES }, () => end(context, sandbox))))
        await probe(context, sandbox)
        await Promise.all(processes.map((process) => process.kill().catch(() => {})))
      },
    ],
    [
      'IDEM-1',
      `${name}.before-start`,
      `${name} succeeds on a sandbox that never started`,
      async (context) => {
        const sandbox = await context.create()
        for (let time = 0; time < TIMES; time++) await context.within(`${name} ${time}`, end(context, sandbox))
      },
    ],
  ]
})

export const IDEMPOTENCE_CASES: readonly BackendCase[] = backendCases('idempotence', [
  ...rows,
  [
    'IDEM-2',
    'kill.sequential',
    `kills ${TIMES} times, one after the other and at once`,
    async (context) => {
      const process = await context.spawn(await context.sandbox(), 'sleep 60')
      for (let time = 0; time < TIMES; time++) await context.within(`kill ${time}`, process.kill())
      await context.within('kills at once', Promise.all(Array.from({ length: TIMES }, () => process.kill())))
      assertEqual((await process.wait()).signal, 'SIGKILL', 'signal')
    },
  ],
  [
    'IDEM-2',
    'dispose.process',
    `disposes a process ${TIMES} times at once`,
    async (context) => {
      const process = await context.spawn(await context.sandbox(), 'sleep 60')
      await context.within(
        'disposals',
        Promise.all(Array.from({ length: TIMES }, async () => process[Symbol.asyncDispose]())),
      )
    },
  ],
  [
    'IDEM-3',
    'mixed.ends',
    'survives stop, shutdown, delete and disposal all at once',
    async (context) => {
      const sandbox = await context.sandbox()
      await context.spawn(sandbox, 'sleep 60')
      const all = ENDS.flatMap(([, , end]) => Array.from({ length: 3 }, () => end(context, sandbox)))
      await context.within('all of them', Promise.all(all))
      assertEqual(await context.client.probe(sandbox.state), 'absent', 'probe')
    },
  ],
])
