import { assertTrue } from '../../assertions.js'
import { backendCases } from '../../backend-case.js'
import type { BackendCase } from '../../backend-case.js'

const MUST: readonly BackendCase[] = backendCases('lifecycle', [
  [
    'LIFE-20',
    'usage.shape',
    'tells each use as a number that is not negative, or null',
    async (context) => {
      const usage = await (await context.sandbox()).usage()
      for (const name of ['cpuMs', 'memoryBytes', 'processes', 'diskBytes'] as const) {
        const value = usage[name]
        assertTrue(value === null || (Number.isFinite(value) && value >= 0), `usage.${name} is a number or null`)
      }
    },
  ],
])

const SHOULD: readonly BackendCase[] = backendCases(
  'lifecycle',
  [
    [
      'LIFE-21',
      'usage.counts',
      'counts a command among the processes while it runs, where it counts any',
      async (context) => {
        const sandbox = await context.sandbox()
        const before = (await sandbox.usage()).processes
        const process = await context.spawn(sandbox, 'sleep 60', { background: true })
        await context.eventually('one more process', async () => {
          const { processes } = await sandbox.usage()
          return (
            (before === null && processes === null) || (before !== null && processes !== null && processes > before)
          )
        })
        await process.kill()
        await context.eventually('as many as before', async () => (await sandbox.usage()).processes === before)
      },
    ],
  ],
  'SHOULD',
)

export const USAGE_CASES: readonly BackendCase[] = [...MUST, ...SHOULD]
