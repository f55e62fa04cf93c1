import type { ProcessExit } from '@cofferdam/core/plugin'
import type { Answer } from '../answer.js'
import { boundText } from '../bound-text.js'
import type { RunningCommand } from './running-command.js'

export interface ReportOptions {
  readonly redact: (text: string) => string
  readonly maxOutputBytes: number
}

/** Bytes of an answer beside the output of a command. */
export const REPORT_BYTES: number = 1_024

/** What became of a command by now, with its unread output. */
export function reportCommand(command: RunningCommand, { redact, maxOutputBytes }: ReportOptions): Answer {
  const { text, droppedBytes } = command.takeUnread(redact)
  const { text: output, omittedBytes } = boundText(text, maxOutputBytes)
  const { end } = command
  const ended = end !== undefined && 'exit' in end ? end : undefined
  const status =
    ended === undefined ? runningStatus(command) : `${exitStatus(ended.exit)} after ${seconds(ended.durationMs)}.`
  return {
    ok: ended === undefined || succeeded(ended.exit),
    text: output === '' ? `${status}\nNo output${ended === undefined ? ' yet' : ''}.` : `${status}\nOutput:\n${output}`,
    data: {
      processId: command.id,
      status: ended === undefined ? 'running' : 'ended',
      exitCode: ended?.exit.exitCode ?? null,
      signal: ended?.exit.signal ?? null,
      timedOut: ended?.exit.timedOut ?? false,
      durationMs: ended?.durationMs ?? Date.now() - command.startedAtMs,
      output,
      omittedBytes: omittedBytes + droppedBytes,
      totalBytes: command.totalBytes,
    },
  }
}

export function succeeded({ exitCode, timedOut }: ProcessExit): boolean {
  return exitCode === 0 && !timedOut
}

/** In a few words, without a full stop. */
export function exitStatus({ exitCode, signal, timedOut }: ProcessExit): string {
  if (timedOut) return 'Ran out of its time (timeout_ms) and was ended with all that it had started,'
  return signal === null ? `Exit code ${exitCode ?? 'unknown'}` : `Ended by ${signal}`
}

function runningStatus(command: RunningCommand): string {
  const since = seconds(Date.now() - command.startedAtMs)
  const how = 'wait for more with write_stdin (no chars), end it with kill_process'
  return `Still running after ${since} as process ${command.id}; ${how}.`
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 0)} s`
}
