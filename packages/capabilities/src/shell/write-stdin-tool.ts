import { defineTool } from '@cofferdam/core/plugin'
import type { Tool } from '@cofferdam/core/plugin'
import { z } from 'zod'
import { answer, failure } from '../answer.js'
import type { Answer } from '../answer.js'
import { outputLimit } from './exec-command-tool.js'
import { REPORT_BYTES, reportCommand } from './report-command.js'
import type { RunningCommand } from './running-command.js'
import type { ShellToolContext } from './shell-tools.js'

const WRITE_YIELD_MS = 500
const POLL_YIELD_MS = 5_000
const MAX_YIELD_MS = 300_000
const MAX_CHARACTERS = 256 * 1024

interface WriteInput {
  readonly process_id: string
  readonly chars: string
  readonly end: boolean
  readonly yield_time_ms?: number | undefined
  readonly max_output_bytes: number
}

function writeParameters(maxOutputBytes: number): z.ZodType<WriteInput> {
  return z.strictObject({
    process_id: z.string().min(1).describe('As exec_command gave it.'),
    chars: z
      .string()
      .max(MAX_CHARACTERS)
      .default('')
      .describe('Written as they are: end a line with \\n. \\u0003 is Ctrl-C. Empty: only wait for output.'),
    end: z.boolean().default(false).describe('Then end of file.'),
    yield_time_ms: z
      .int()
      .min(0)
      .max(MAX_YIELD_MS)
      .optional()
      .describe(`Answer after this long. Default ${WRITE_YIELD_MS}, without chars ${POLL_YIELD_MS}.`),
    max_output_bytes: outputLimit(maxOutputBytes),
  })
}

export function writeStdinTool(context: ShellToolContext): Tool<WriteInput> {
  const { approval, commands, maxOutputBytes, redact } = context
  return defineTool({
    name: 'write_stdin',
    description: 'Writes to a command that runs, or only waits for it, and answers with the output that is new since.',
    parameters: writeParameters(maxOutputBytes),
    effects: 'execute',
    approval: (input) => {
      if (input.chars.replaceAll('\x03', '') === '') return 'never'
      if (typeof approval !== 'function') return approval
      const start = commands.find(input.process_id)?.start
      const { tty, background } = start ?? { tty: false, background: false }
      return approval(input.chars, { tool: 'write_stdin', workdir: null, tty, background })
    },
    execute: (input, { signal }) =>
      answer({ redact, maxOutputBytes: maxOutputBytes + REPORT_BYTES }, async () => {
        const command = commands.find(input.process_id)
        if (command === undefined) return unknown(input.process_id)
        const writes = input.chars !== '' || input.end
        const refusal = writes ? refuse(command, input) : undefined
        if (refusal !== undefined) return refusal
        const waitMs = input.yield_time_ms ?? (writes ? WRITE_YIELD_MS : POLL_YIELD_MS)
        // Not awaited: a command that does not read must not hold the answer back.
        const write = writes ? watch(send(command, input)) : undefined
        await commands.waitFor(command, waitMs, signal)
        const report = reportCommand(command, { redact, maxOutputBytes: input.max_output_bytes })
        return write?.failed === true ? inputClosed(command, report) : command.inputStuck ? notTaken(report) : report
      }),
  })
}

async function send(command: RunningCommand, { chars, end }: WriteInput): Promise<void> {
  if (chars !== '') await command.write(chars)
  if (end) await command.endInput()
}

function watch(writing: Promise<void>): { failed: boolean } {
  const state = { failed: false }
  writing.catch(() => (state.failed = true))
  return state
}

function refuse(command: RunningCommand, { chars }: WriteInput): Answer | undefined {
  const { id, end, inputOpen, inputStuck } = command
  if (end !== undefined) {
    return failure('process_ended', `process ${id} has ended; write_stdin without chars gives the rest of its output`, {
      processId: id,
    })
  }
  if (chars !== '' && chars.replaceAll('\x03', '') === '') return undefined
  if (inputStuck) {
    const message = `process ${id} has not taken what was written before; wait, or end it with kill_process`
    return failure('input_not_taken', message, { processId: id })
  }
  if (inputOpen) return undefined
  return failure('stdin_closed', `the input of process ${id} is closed; start it with stdin: true or tty: true`, {
    processId: id,
  })
}

function inputClosed(command: RunningCommand, report: Answer): Answer {
  const message = `process ${command.id} closed its input before it had taken everything`
  return { ok: false, text: `${message}.\n${report.text}`, data: { ...report.data, code: 'stdin_closed', message } }
}

function notTaken(report: Answer): Answer {
  return { ...report, text: `What was written is not taken yet.\n${report.text}` }
}

function unknown(id: string): Answer {
  const message = `no process ${id} was started with exec_command in this run; list_processes names all there are`
  return failure('not_found', message, { processId: id })
}
