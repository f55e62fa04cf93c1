import type { Limits, ProcessLimits, Sandbox } from '@cofferdam/core/plugin'
import { isSandboxError } from '@cofferdam/core/plugin'
import { assertEqual, assertTrue } from '../../assertions.js'
import { backendCases } from '../../backend-case.js'
import type { BackendCase, Needs } from '../../backend-case.js'
import type { BackendContext, RunResult } from '../../backend-context.js'
import { SkippedCase } from '../../skipped-case.js'

const NONE: Limits = { memoryBytes: null, cpus: null, pids: null, diskBytes: null }

export const LIMIT_CASES: readonly BackendCase[] = backendCases('exec', [
  [
    'EXEC-70',
    'limits.file-size',
    'ends a command that writes a larger file than it may',
    async (context) => {
      const sandbox = await context.sandbox()
      const result = await bounded(context, sandbox, 'head -c 1000000 /dev/zero > big', { fileSizeBytes: 65_536 })
      assertTrue(result.exitCode !== 0, 'it did not succeed')
      assertTrue((await sandbox.files.stat(`${sandbox.paths.workspace}/big`))!.sizeBytes <= 65_536, 'the file is small')
      await context.output(sandbox, 'head -c 1000000 /dev/zero > big')
    },
  ],
  [
    'EXEC-70',
    'limits.open-files',
    'lets a command open no more files than it may',
    async (context) => {
      const result = await bounded(context, await context.sandbox(), 'ulimit -n', { openFiles: 32 })
      assertEqual(result.stdout, '32\n', 'the limit as the command sees it')
    },
  ],
  [
    'EXEC-70',
    'limits.cpu',
    'ends a command that used up its time on the processor',
    async (context) => {
      const result = await bounded(context, await context.sandbox(), 'while :; do :; done', { cpuSeconds: 1 })
      assertTrue(result.exitCode !== 0 && !result.timedOut, 'it was ended, and not by its timeout')
    },
  ],
  [
    'EXEC-71',
    'limits.sandbox-memory',
    'gives commands no more memory than the sandbox has',
    async (context) => {
      const sandbox = await context.sandbox({ limits: { ...NONE, memoryBytes: 128 << 20 } })
      const result = await context.run(sandbox, 'head -c 600000000 /dev/zero | tail -c 600000000 | wc -c')
      assertTrue(result.stdout.trim() !== '600000000', 'not all of it fitted')
      await context.output(sandbox, 'true')
    },
    needsLimit('memory'),
  ],
  [
    'EXEC-71',
    'limits.sandbox-pids',
    'lets commands start no more processes than the sandbox has',
    async (context) => {
      const sandbox = await context.sandbox({ limits: { ...NONE, pids: 32 } })
      const result = await context.run(sandbox, 'for i in $(seq 64); do sleep 30 & done; echo all', {
        timeoutMs: 20_000,
      })
      assertTrue(!result.stdout.includes('all') || result.stderr !== '', 'not all of them started')
    },
    needsLimit('pids'),
  ],
])

/** Skips the case where the limit is refused, which the contract leaves to a backend. */
async function bounded(
  context: BackendContext,
  sandbox: Sandbox,
  command: string,
  limits: ProcessLimits,
): Promise<RunResult> {
  try {
    return await context.run(sandbox, command, { limits, timeoutMs: 30_000 })
  } catch (error) {
    if (!isSandboxError(error, 'unsupported_feature')) throw error
    throw new SkippedCase(`the limit is refused: ${error.message}`)
  }
}

function needsLimit(name: 'memory' | 'pids'): Needs {
  return (features) => features.limits[name] || `features.limits.${name} is false`
}
