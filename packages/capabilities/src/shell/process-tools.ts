import { defineTool } from '@cofferdam/core/plugin'
import type { ProcessExit, ProcessInfo, Tool } from '@cofferdam/core/plugin'
import { z } from 'zod'
import { answer } from '../answer.js'
import type { Answer } from '../answer.js'
import { cutCharacters } from '../bound-text.js'
import { outputLimit } from './exec-command-tool.js'
import { redactBetween } from './redact-continued.js'
import { exitStatus, REPORT_BYTES, reportCommand } from './report-command.js'
import { CONTEXT_BYTES } from './running-command.js'
import type { RunningCommand } from './running-command.js'
import type { ShellToolContext } from './shell-tools.js'

/** A command that is asked to end and does not is killed after this. */
const END_GRACE_MS = 5_000
const SHOWN_CHARACTERS = 200
/** A command of another run that is at least this long may be cut: a little less than what a sandbox keeps of it. */
const GIVEN_CHARACTERS = 198
const UNSURE_CHARACTERS = 100

const processId = z.string().min(1).describe('As exec_command or list_processes gave it.')
const SIGNALS = [
  'SIGTERM',
  'SIGINT',
  'SIGKILL',
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
  'SIGSTOP',
  'SIGCONT',
] as const

interface Listed {
  readonly processId: string
  readonly command: string
  readonly status: 'running' | 'ended'
  readonly exit: ProcessExit | null
  readonly unreadBytes: number | null
}

type ListInput = Readonly<Record<string, never>>

const listParameters: z.ZodType<ListInput> = z.strictObject({})

export function listProcessesTool(context: ShellToolContext): Tool<ListInput> {
  return defineTool({
    name: 'list_processes',
    description: 'Lists the commands of this run, and background processes of the workspace that others started.',
    parameters: listParameters,
    effects: 'read',
    approval: 'never',
    execute: () =>
      answer(answersOf(context), async () => {
        const own = context.commands.all.map((command) => describeOwn(command, context))
        const known = new Set(own.map(({ processId }) => processId))
        const others = (await context.session.processes.list())
          .filter(({ id }) => !known.has(id))
          .map((info) => describeOther(info, context))
        const listed = [...own, ...others]
        return {
          ok: true,
          text: listed.length === 0 ? 'No processes.' : listed.map(showProcess).join('\n'),
          data: {
            processes: listed.map(({ exit, ...rest }) => ({
              ...rest,
              exitCode: exit?.exitCode ?? null,
              signal: exit?.signal ?? null,
              timedOut: exit?.timedOut ?? false,
            })),
          },
        }
      }),
  })
}

function describeOwn({ id, start, end, unreadBytes }: RunningCommand, { redact }: ShellToolContext): Listed {
  const exit = end !== undefined && 'exit' in end ? end.exit : null
  const command = showCommand(start.command, redact)
  return { processId: id, command, status: end === undefined ? 'running' : 'ended', exit, unreadBytes }
}

function describeOther({ id, command, status, exit }: ProcessInfo, { redact }: ShellToolContext): Listed {
  return { processId: id, command: showCutCommand(command, redact), status, exit, unreadBytes: null }
}

/** Masked before it is cut: what is left of a secret is not known any more. */
function showCommand(command: string, redact: (text: string) => string): string {
  return cutCharacters(redact(command), SHOWN_CHARACTERS)
}

/**
 * The sandbox gives no more than the beginning of a command, so that a secret may end beyond what is known of it: of a
 * long one the last part is not shown.
 */
function showCutCommand(command: string, redact: (text: string) => string): string {
  const masked = redact(command)
  if (command.length < GIVEN_CHARACTERS) return showCommand(command, redact)
  return `${cutCharacters(masked, Math.max(masked.length - UNSURE_CHARACTERS, 0))}…`
}

function showProcess({ processId, command, status, exit, unreadBytes }: Listed): string {
  const state = status === 'running' ? 'running' : exit === null ? 'ended' : exitStatus(exit).replace(/,$/, '')
  const unread = unreadBytes === null || unreadBytes === 0 ? '' : `, ${unreadBytes} bytes unread`
  return `${processId}: ${state}${unread}: ${command.replace(/\s+/g, ' ')}`
}

interface KillInput {
  readonly process_id: string
  readonly signal: (typeof SIGNALS)[number]
}

const killParameters: z.ZodType<KillInput> = z.strictObject({
  process_id: processId,
  signal: z.enum(SIGNALS).default('SIGTERM').describe('SIGTERM becomes SIGKILL when it does not help.'),
})

export function killProcessTool(context: ShellToolContext): Tool<KillInput> {
  const { commands, session, redact, maxOutputBytes } = context
  return defineTool({
    name: 'kill_process',
    description: 'Sends a signal to a process and all that it started.',
    parameters: killParameters,
    effects: 'execute',
    approval: 'never',
    execute: ({ process_id, signal }, call) =>
      answer(answersOf(context), async () => {
        const command = commands.find(process_id)
        if (command === undefined) {
          await session.processes.kill(process_id, signal)
          return { ok: true, text: `Sent ${signal} to process ${process_id}.`, data: { processId: process_id, signal } }
        }
        await command.kill(signal)
        const ends = signal === 'SIGTERM' || signal === 'SIGKILL'
        await commands.waitFor(command, ends ? END_GRACE_MS : 500, call.signal)
        if (ends && command.end === undefined) {
          await command.kill('SIGKILL')
          await commands.waitFor(command, END_GRACE_MS, call.signal)
        }
        // That it was ended is what was asked for.
        return { ...reportCommand(command, { redact, maxOutputBytes }), ok: !ends || command.end !== undefined }
      }),
  })
}

interface ReadInput {
  readonly process_id: string
  readonly offset?: number | undefined
  readonly max_output_bytes: number
}

export function readOutputTool(context: ShellToolContext): Tool<ReadInput> {
  const parameters: z.ZodType<ReadInput> = z.strictObject({
    process_id: processId,
    offset: z.int().min(0).optional().describe('First byte of all its output. Default: the first that is kept.'),
    max_output_bytes: outputLimit(context.maxOutputBytes),
  })
  return defineTool({
    name: 'read_output',
    description: 'Reads output of a process again, from an offset on. What write_stdin gives next stays the same.',
    parameters,
    effects: 'read',
    approval: 'never',
    execute: (input, { signal }) =>
      answer(answersOf(context), async () => {
        const command = context.commands.find(input.process_id)
        return command === undefined ? readOther(input, context, signal) : readOwn(command, input, context)
      }),
  })
}

function readOwn(command: RunningCommand, input: ReadInput, { redact }: ShellToolContext): Answer {
  const offset = input.offset ?? 0
  const { from, next, text } = command.readFrom(offset, input.max_output_bytes, redact)
  const status = command.end === undefined ? 'running' : 'ended'
  return showOutput({ processId: command.id, status, from, next, droppedBytes: Math.max(from - offset, 0), text })
}

async function readOther(input: ReadInput, context: ShellToolContext, signal?: AbortSignal): Promise<Answer> {
  /** What stands around, to know a secret by that lies there in part. */
  const textOf = async ({ from, to }: { from: number; to: number }): Promise<string> => {
    const options = { fromOffset: from, maxBytes: to - from, ...(signal === undefined ? {} : { signal }) }
    const around = await context.session.processes.readOutput(input.process_id, options)
    return around.text
  }
  const output = await context.session.processes.readOutput(input.process_id, {
    maxBytes: input.max_output_bytes,
    ...(input.offset === undefined ? {} : { fromOffset: input.offset }),
    ...(signal === undefined ? {} : { signal }),
  })
  const { fromOffset, nextOffset } = output
  const earlier = Math.max(fromOffset - CONTEXT_BYTES, 0)
  const before = earlier === fromOffset ? '' : await textOf({ from: earlier, to: fromOffset })
  const after = output.text === '' ? '' : await textOf({ from: nextOffset, to: nextOffset + CONTEXT_BYTES })
  return showOutput({
    processId: input.process_id,
    status: output.exit === null ? 'running' : 'ended',
    from: output.fromOffset,
    next: output.nextOffset,
    droppedBytes: output.droppedBytes,
    text: redactBetween(before, output.text, after, context.redact),
  })
}

interface ShownOutput {
  readonly processId: string
  readonly status: 'running' | 'ended'
  readonly from: number
  readonly next: number
  readonly droppedBytes: number
  readonly text: string
}

function showOutput({ processId, status, from, next, droppedBytes, text }: ShownOutput): Answer {
  const dropped = droppedBytes === 0 ? '' : `; ${droppedBytes} bytes before are no longer kept`
  const head = `Process ${processId} (${status}): bytes ${from} to ${next}${dropped}. Read on with offset ${next}.`
  return {
    ok: true,
    text: text === '' ? `${head}\nNo output there.` : `${head}\n${text}`,
    data: { processId, status, fromOffset: from, nextOffset: next, droppedBytes, output: text },
  }
}

function answersOf({ redact, maxOutputBytes }: ShellToolContext): {
  redact: (text: string) => string
  maxOutputBytes: number
} {
  return { redact, maxOutputBytes: maxOutputBytes + REPORT_BYTES }
}
