import { encodePath } from '@cofferdam/core/path'
import type { MemoryProcess } from '../process/memory-process.js'
import { parseScript } from './parse-script.js'
import { Shell } from './shell.js'
import { ShellSyntaxError } from './syntax.js'
import type { Script } from './syntax.js'

export interface ShellRun {
  readonly text: string
  /** `$0`. */
  readonly name: string
  readonly parameters: readonly string[]
}

/** Runs a script to its end in a process and gives its exit code. */
export async function runShell(process: MemoryProcess, run: ShellRun): Promise<number> {
  let script: Script
  try {
    script = parseScript(run.text)
  } catch (error) {
    if (!(error instanceof ShellSyntaxError)) throw error
    await process.write(2, encodePath(`${run.name}: ${error.message}\n`))
    return 2
  }
  const shell = new Shell(process, run)
  return shell.runToEnd(() => shell.runScript(script))
}
