import { defineCapability } from '@cofferdam/core/plugin'
import type { Capability } from '@cofferdam/core/plugin'
import { CommandTable } from './command-table.js'
import { execCommandTool } from './exec-command-tool.js'
import { SHELL_INSTRUCTIONS } from './instructions.js'
import { killProcessTool, listProcessesTool, readOutputTool } from './process-tools.js'
import type { ShellApproval, ShellToolContext } from './shell-tools.js'
import { writeStdinTool } from './write-stdin-tool.js'

export interface ShellOptions {
  /** User that commands run as. Needs `features.users`. Default: the one the run says, else the sandbox's own. */
  readonly runAs?: string
  /** Added to the environment of every command. Secrets belong into the manifest, by reference, where they are masked. */
  readonly env?: Readonly<Record<string, string>>
  /** Default `never`. Waiting for output and Ctrl-C are never asked about. */
  readonly approval?: ShellApproval
  /** For commands that say none themselves. 0 = none. Default 120 000. */
  readonly defaultTimeoutMs?: number
  /** Bytes of output that one call gives a model. At least 1 024. Default 32 KiB. */
  readonly maxOutputBytes?: number
}

const DEFAULT_TIMEOUT_MS = 120_000
const DEFAULT_OUTPUT_BYTES = 32 * 1024
const MIN_OUTPUT_BYTES = 1_024

/**
 * Commands as tools: `exec_command`, `write_stdin`, `list_processes`, `kill_process`, `read_output`. No call waits longer
 * than it says: what still runs then goes on and is read later. Disposal ends everything that was started, also what was
 * started in the background.
 *
 * stdout and stderr are given together, as they came. Of output that nobody reads the first 128 KiB and the last MiB are
 * kept.
 *
 * @throws TypeError for options that are out of range
 */
export function shell(options: ShellOptions = {}): Capability {
  const defaultTimeoutMs = options.defaultTimeoutMs ?? DEFAULT_TIMEOUT_MS
  const maxOutputBytes = options.maxOutputBytes ?? DEFAULT_OUTPUT_BYTES
  if (!Number.isSafeInteger(defaultTimeoutMs) || defaultTimeoutMs < 0) {
    throw new TypeError('shell: defaultTimeoutMs must be a whole number of at least 0')
  }
  if (!Number.isSafeInteger(maxOutputBytes) || maxOutputBytes < MIN_OUTPUT_BYTES) {
    throw new TypeError(`shell: maxOutputBytes must be a whole number of at least ${MIN_OUTPUT_BYTES}`)
  }
  return defineCapability({
    type: 'shell',
    bind: ({ session, runAs }) => {
      const user = options.runAs ?? runAs ?? undefined
      const commands = new CommandTable(session)
      const context: ShellToolContext = {
        session,
        commands,
        redact: (text) => session.redact(text),
        approval: options.approval ?? 'never',
        spawn: { ...(user === undefined ? {} : { user }), ...(options.env === undefined ? {} : { env: options.env }) },
        defaultTimeoutMs,
        maxOutputBytes,
      }
      return {
        tools: [
          execCommandTool(context),
          writeStdinTool(context),
          listProcessesTool(context),
          killProcessTool(context),
          readOutputTool(context),
        ],
        instructions: SHELL_INSTRUCTIONS,
        dispose: () => commands.dispose(),
      }
    },
  })
}
