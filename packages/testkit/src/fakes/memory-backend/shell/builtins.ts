import { decodePath, encodePath } from '@cofferdam/core/path'
import { findExecutable } from '../commands/executables.js'
import { parseSignal } from '../process/process-death.js'
import { directoryPath } from '../tree/nodes.js'
import { PosixError } from '../tree/posix-error.js'
import { BreakLoop, ContinueLoop, ShellExit } from './control-flow.js'
import { parseScript } from './parse-script.js'
import type { ShellContext } from './shell-context.js'

type Builtin = (shell: ShellContext, args: readonly string[]) => Promise<number>

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/** What has to happen in the shell itself. */
export const BUILTINS: Readonly<Record<string, Builtin>> = {
  ':': () => Promise.resolve(0),
  '.': source,
  break: (_shell, [levels = '1']) => Promise.reject(new BreakLoop(Number(levels))),
  cd: changeDirectory,
  command: runCommand,
  continue: (_shell, [levels = '1']) => Promise.reject(new ContinueLoop(Number(levels))),
  eval: (shell, args) => shell.runScript(parseScript(args.join(' '))),
  exec: execProgram,
  exit: (shell, [status]) => Promise.reject(new ShellExit(status === undefined ? shell.status : Number(status) & 0xff)),
  export: exportVariables,
  read: readLine,
  set: setOptions,
  shift: shiftParameters,
  trap: setTrap,
  umask: () => Promise.resolve(0),
  unset: unsetVariables,
  wait: waitForJobs,
}

async function source(shell: ShellContext, [path = '']: readonly string[]): Promise<number> {
  const { node } = shell.process.tree.walk(path, { from: shell.process.directory })
  if (node?.type !== 'file') throw new PosixError('ENOENT')
  return shell.runScript(parseScript(decodePath(node.bytes.subarray(0, node.sizeBytes))))
}

async function changeDirectory(shell: ShellContext, [path]: readonly string[]): Promise<number> {
  const to = path ?? shell.getVariable('HOME') ?? ''
  try {
    const { node } = shell.process.tree.walk(to, { from: shell.process.directory })
    if (node === undefined) throw new PosixError('ENOENT')
    if (node.type !== 'directory') throw new PosixError('ENOTDIR')
    shell.process.directory = node
    shell.setVariable('PWD', directoryPath(node))
    return 0
  } catch (error) {
    if (!(error instanceof PosixError)) throw error
    await shell.complain(`cd: can't cd to ${to}: ${error.message}`)
    return 2
  }
}

/** `command -v name`: what would run. */
async function runCommand(shell: ShellContext, [option, name = '']: readonly string[]): Promise<number> {
  if (option !== '-v') {
    await shell.complain('command: only -v is there')
    return 2
  }
  const request = { name, from: shell.process.directory, environment: shell.environment() }
  const isBuiltin = Object.hasOwn(BUILTINS, name)
  if (!isBuiltin && findExecutable(shell.process.machine, request).kind !== 'program') return 127
  await shell.process.write(1, encodePath(`${isBuiltin || name.includes('/') ? '' : '/bin/'}${name}\n`))
  return 0
}

/** Becomes another program. Its redirections stay in force until the process ends with it. */
async function execProgram(shell: ShellContext, [name, ...args]: readonly string[]): Promise<number> {
  if (name === undefined) return 0
  const request = { name, from: shell.process.directory, environment: shell.environment() }
  const found = findExecutable(shell.process.machine, request)
  if (found.kind !== 'program') {
    await shell.complain(`exec: ${name}: not found`)
    throw new ShellExit(127)
  }
  shell.onExit = null
  shell.process.environment = request.environment
  shell.process.command = [name, ...args].join(' ')
  for (const [signal, action] of shell.process.traps) if (action !== null) shell.process.traps.delete(signal)
  throw new ShellExit(await found.run(shell.process, args))
}

function exportVariables(shell: ShellContext, args: readonly string[]): Promise<number> {
  for (const arg of args) {
    const equals = arg.indexOf('=')
    const name = equals < 0 ? arg : arg.slice(0, equals)
    if (!NAME.test(name)) return shell.complain(`export: ${name}: bad variable name`).then(() => 2)
    if (equals >= 0) shell.setVariable(name, arg.slice(equals + 1))
    shell.exported.add(name)
  }
  return Promise.resolve(0)
}

function unsetVariables(shell: ShellContext, args: readonly string[]): Promise<number> {
  for (const name of args) {
    shell.variables.delete(name)
    shell.exported.delete(name)
  }
  return Promise.resolve(0)
}

/** Reads byte by byte, because what follows the line belongs to others. */
async function readLine(shell: ShellContext, args: readonly string[]): Promise<number> {
  const raw = args[0] === '-r'
  const names = raw ? args.slice(1) : args
  const bytes: number[] = []
  let ended = false
  for (;;) {
    const chunk = await shell.process.read(0, 1)
    if (chunk === null) ended = true
    if (chunk === null || chunk[0] === 0x0a) break
    bytes.push(chunk[0]!)
  }
  let rest = decodePath(Uint8Array.from(bytes)).replace(/^[ \t]+|[ \t]+$/g, '')
  if (!raw) rest = rest.replace(/\\([^])/g, '$1')
  names.forEach((name, index) => {
    const split = index < names.length - 1 ? /^([^ \t]*)[ \t]*([^]*)$/.exec(rest) : null
    shell.setVariable(name, split === null ? rest : split[1]!)
    rest = split === null ? '' : split[2]!
  })
  return ended ? 1 : 0
}

async function setOptions(shell: ShellContext, args: readonly string[]): Promise<number> {
  const [first, ...rest] = args
  if (first === '--') shell.parameters = rest
  else if (first === '-e') shell.exitOnFailure = true
  else if (first === '+e') shell.exitOnFailure = false
  else if (first !== undefined && !/^[-+][ufx]+$/.test(first)) shell.parameters = args
  else if (first !== undefined) {
    await shell.complain(`set: ${first}: no such option here`)
    return 2
  }
  return 0
}

function shiftParameters(shell: ShellContext, [count = '1']: readonly string[]): Promise<number> {
  shell.parameters = shell.parameters.slice(Number(count))
  return Promise.resolve(0)
}

async function setTrap(shell: ShellContext, [action = '', ...signals]: readonly string[]): Promise<number> {
  for (const name of signals) {
    if (name === 'EXIT' || name === '0') {
      shell.onExit = action === '-' ? null : action
      continue
    }
    const signal = parseSignal(name)
    if (signal === undefined) {
      await shell.complain(`trap: ${name}: bad trap`)
      return 1
    }
    if (action === '-') shell.process.traps.delete(signal)
    else shell.process.traps.set(signal, action === '' ? null : action)
  }
  return 0
}

/** Waits for jobs; a signal with a trap ends the waiting. */
async function waitForJobs(shell: ShellContext, pids: readonly string[]): Promise<number> {
  const ids = pids.length > 0 ? pids.map(Number) : [...shell.jobs.keys()]
  let status = 0
  for (const pid of ids) {
    const job = shell.jobs.get(pid)
    if (job === undefined) {
      status = 127
      continue
    }
    while (job.death === null) {
      await shell.process.block((wake) => job.ended.add(wake), true)
      if (shell.process.pending.length > 0) return 143
    }
    shell.jobs.delete(pid)
    status = pids.length > 0 ? job.death.exitCode : 0
  }
  return status
}
