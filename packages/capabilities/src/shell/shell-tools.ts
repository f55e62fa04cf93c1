import type { SandboxSession, SpawnOptions } from '@cofferdam/core'
import type { CommandTable } from './command-table.js'

/** What a rule is asked about beside the text. */
export interface ShellCall {
  /** With `write_stdin` the text is what is typed into a command that runs: for a shell, commands too. */
  readonly tool: 'exec_command' | 'write_stdin'
  /** As the model wrote it; null for the workspace. */
  readonly workdir: string | null
  readonly tty: boolean
  readonly background: boolean
}

/** Whether a person is asked before a command runs or is written to. */
export type ShellApproval = 'never' | 'ask' | ((text: string, call: ShellCall) => 'never' | 'ask' | 'deny')

/** What every tool of the capability is made with. */
export interface ShellToolContext {
  readonly session: SandboxSession
  readonly commands: CommandTable
  readonly redact: (text: string) => string
  readonly approval: ShellApproval
  readonly spawn: Pick<SpawnOptions, 'user' | 'env'>
  readonly defaultTimeoutMs: number
  readonly maxOutputBytes: number
}
