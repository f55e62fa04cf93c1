import { SandboxError } from '@cofferdam/core/plugin'
import type { SpawnRequest } from '@cofferdam/core/plugin'
import { canonicalPathText } from '@cofferdam/core/path'
import { findExecutable } from './commands/executables.js'
import { argumentError } from './file-errors.js'
import { unsupported } from './memory-plan.js'
import type { Machine } from './process/machine.js'
import type { TreePlan } from './process/process-tree.js'
import { runShell } from './shell/run-shell.js'
import { directoryPath } from './tree/nodes.js'
import type { DirNode } from './tree/nodes.js'
import { PosixError } from './tree/posix-error.js'

/** Everything about a command that can be refused before it runs, decided. */
export function planSpawn(
  machine: Machine,
  request: SpawnRequest,
  sandboxEnvironment: Readonly<Record<string, string>>,
): Pick<TreePlan, 'directory' | 'environment' | 'body'> {
  refuseUnsupported(request)
  const environment = mergedEnvironment(sandboxEnvironment, request.env ?? {})
  const directory = findDirectory(machine, request.cwd ?? directoryPath(machine.workspace))
  return { directory, environment, body: findBody(machine, request, { directory, environment }) }
}

function refuseUnsupported(request: SpawnRequest): void {
  if (request.tty !== undefined) throw unsupported('tty', 'there are no terminals')
  if (request.user !== undefined) throw unsupported('users', 'there is one user')
  if (request.limits !== undefined && Object.keys(request.limits).length > 0) {
    throw unsupported('limits', 'commands have no limits')
  }
  const { timeoutMs = 0 } = request
  if (!Number.isFinite(timeoutMs) || timeoutMs < 0) throw argumentError('timeoutMs', 'it is a number from 0')
}

function mergedEnvironment(...records: readonly Readonly<Record<string, string>>[]): Map<string, string> {
  const merged = new Map<string, string>()
  for (const record of records) {
    for (const [name, value] of Object.entries(record)) {
      if (name === '' || /[=\0]/.test(name))
        throw argumentError('env', `${JSON.stringify(name)} is no name of a variable`)
      if (value.includes('\0')) throw argumentError('env', `the value of ${name} holds a NUL`)
      merged.set(name, value)
    }
  }
  return merged
}

function findDirectory(machine: Machine, path: string): DirNode {
  if (!path.startsWith('/') || path.includes('\0'))
    throw argumentError('cwd', `${JSON.stringify(path)} is not an absolute path`)
  try {
    const { node } = machine.tree.walk(canonicalPathText(path))
    if (node?.type === 'directory') return node
    throw notStarted(`the directory ${path} ${node === undefined ? 'is not there' : 'is no directory'}`)
  } catch (error) {
    if (error instanceof PosixError) throw notStarted(`the directory ${path}: ${error.message}`)
    throw error
  }
}

function findBody(
  machine: Machine,
  request: SpawnRequest,
  at: { readonly directory: DirNode; readonly environment: ReadonlyMap<string, string> },
): TreePlan['body'] {
  const { command } = request
  if (typeof command === 'string') {
    const text = checkedArgument(command)
    return (process) => runShell(process, { text, name: 'sh', parameters: [] })
  }
  const [name, ...args] = command.map(checkedArgument)
  if (name === undefined) throw argumentError('command', 'an argument vector has at least one member')
  const found = findExecutable(machine, { name, from: at.directory, environment: at.environment })
  if (found.kind !== 'program') {
    throw notStarted(
      found.kind === 'denied' ? `${name} may not be executed` : `there is no program ${JSON.stringify(name)}`,
    )
  }
  if (found.isScript) throw notStarted(`${name} is no program: it does not begin with #!`)
  return (process) => found.run(process, args)
}

function checkedArgument(text: string): string {
  if (text.includes('\0')) throw argumentError('command', 'an argument holds a NUL')
  // Throws for surrogates that stand for no byte.
  return canonicalPathText(text)
}

function notStarted(reason: string): SandboxError<'exec_not_started'> {
  return new SandboxError(
    'exec_not_started',
    `the command could not be started: ${reason}`,
    { reason },
    { backend: 'memory' },
  )
}
