import { defineTool, isSandboxError } from '@cofferdam/core/plugin'
import type { Tool } from '@cofferdam/core/plugin'
import { z } from 'zod'
import { answer } from '../answer.js'
import { REPORT_BYTES, reportCommand } from './report-command.js'
import type { RunningCommand } from './running-command.js'
import type { ShellToolContext } from './shell-tools.js'

const DEFAULT_YIELD_MS = 10_000
/** Enough to see a background command fail at once. */
const BACKGROUND_YIELD_MS = 300
const MAX_YIELD_MS = 300_000
const MAX_TIMEOUT_MS = 24 * 60 * 60 * 1_000
const TERMINAL = { cols: 120, rows: 40 }

/** Bounds on output that a model may ask for; the option of the capability is the largest. */
export function outputLimit(maxOutputBytes: number): z.ZodDefault<z.ZodInt> {
  return z.int().min(256).max(maxOutputBytes).default(maxOutputBytes)
}

// What the schema below is, said explicitly.
interface ExecInput {
  readonly command: string
  readonly workdir?: string | undefined
  readonly timeout_ms?: number | undefined
  readonly yield_time_ms?: number | undefined
  readonly background: boolean
  readonly tty: boolean
  readonly stdin: boolean
  readonly max_output_bytes: number
}

function execParameters({ session, defaultTimeoutMs, maxOutputBytes }: ShellToolContext): z.ZodType<ExecInput> {
  const tty = session.features.tty ? 'Run on a terminal, for programs that need one.' : 'Not available in this sandbox.'
  return z.strictObject({
    command: z.string().min(1).describe('For sh -c.'),
    workdir: z.string().min(1).optional().describe('Directory to run in. Default: the workspace.'),
    timeout_ms: z
      .int()
      .min(0)
      .max(MAX_TIMEOUT_MS)
      .optional()
      .describe(`It is ended when this runs out; 0: never. Default ${defaultTimeoutMs}, in the background 0.`),
    yield_time_ms: z
      .int()
      .min(0)
      .max(MAX_YIELD_MS)
      .optional()
      .describe(`Answer after this long even when it still runs. Default ${DEFAULT_YIELD_MS}.`),
    background: z.boolean().default(false).describe('Answer at once and let it run, for example a server.'),
    tty: z.boolean().default(false).describe(tty),
    stdin: z.boolean().default(false).describe('Keep its input open for write_stdin. Otherwise it gets end of file.'),
    max_output_bytes: outputLimit(maxOutputBytes).describe('The middle of longer output is left out.'),
  })
}

export function execCommandTool(context: ShellToolContext): Tool<ExecInput> {
  const { approval, commands, maxOutputBytes, redact } = context
  return defineTool({
    name: 'exec_command',
    description:
      'Runs a command. Answers with its output when it ends, or when yield_time_ms is over with what there is by then ' +
      'and the id of the process.',
    parameters: execParameters(context),
    effects: 'execute',
    approval:
      typeof approval === 'function'
        ? ({ command, workdir, tty, background }) =>
            approval(command, { tool: 'exec_command', workdir: workdir ?? null, tty, background })
        : approval,
    execute: (input, { signal }) =>
      answer({ redact, maxOutputBytes: maxOutputBytes + REPORT_BYTES }, async () => {
        const command = await start(input, context)
        const yieldMs = input.yield_time_ms ?? (input.background ? BACKGROUND_YIELD_MS : DEFAULT_YIELD_MS)
        try {
          await commands.waitFor(command, yieldMs, signal)
        } catch (error) {
          // Nobody got to know of it, so nobody else would end it.
          if (isSandboxError(error, 'aborted')) await killAfter(error, command)
          throw error
        }
        return reportCommand(command, { redact, maxOutputBytes: input.max_output_bytes })
      }),
  })
}

function start(input: ExecInput, { commands, defaultTimeoutMs, spawn }: ShellToolContext): Promise<RunningCommand> {
  const { command, workdir, background, tty } = input
  const stdin = input.stdin || tty
  return commands.start(
    { command, tty, background, stdin },
    {
      ...spawn,
      background,
      timeoutMs: input.timeout_ms ?? (background ? 0 : defaultTimeoutMs),
      stdin: stdin ? 'pipe' : 'closed',
      ...(tty ? { tty: TERMINAL } : {}),
      ...(workdir === undefined ? {} : { cwd: workdir }),
    },
  )
}

async function killAfter(error: unknown, command: RunningCommand): Promise<void> {
  await command.kill().catch((failure: unknown) => {
    throw new AggregateError([error, failure], 'a call was aborted, and its command could not be ended')
  })
}
