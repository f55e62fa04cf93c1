import type { MemoryProcess } from '../process/memory-process.js'
import type { ExpansionContext } from './expand.js'
import type { Script } from './syntax.js'

/** The shell, as its builtins and redirections see it. */
export interface ShellContext extends ExpansionContext {
  readonly variables: Map<string, string>
  readonly exported: Set<string>
  /** What was started with `&` and not waited for, by process number. */
  readonly jobs: Map<number, MemoryProcess>
  parameters: readonly string[]
  /** `$?`. */
  status: number
  /** `set -e`. */
  exitOnFailure: boolean
  /** The trap for EXIT. */
  onExit: string | null
  /** What a program started now would see. */
  environment(): Map<string, string>
  /** Gives the status of its last command. */
  runScript(script: Script): Promise<number>
  complain(message: string): Promise<void>
}
