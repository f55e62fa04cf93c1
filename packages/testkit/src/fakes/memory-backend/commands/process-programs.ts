import { decodePath } from '@cofferdam/core/path'
import type { Program } from '../process/memory-process.js'
import { parseSignal } from '../process/process-death.js'
import { NULL_DEVICE } from '../process/open-file.js'
import { runShell } from '../shell/run-shell.js'
import { PosixError } from '../tree/posix-error.js'
import { findExecutable } from './executables.js'
import { fail, placeOf, print, readAll } from './program.js'

const SECONDS: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3_600, d: 86_400 }

const sleep: Program = async (process, args) => {
  let totalMs = 0
  for (const arg of args) {
    const match = /^(\d+(?:\.\d*)?|\.\d+)([smhd]?)$/.exec(arg)
    if (match === null && arg !== 'infinity') return fail(process, `sleep: invalid time interval '${arg}'`)
    totalMs += match === null ? Infinity : Number(match[1]) * SECONDS[match[2]!]! * 1_000
  }
  await process.sleep(totalMs)
  return 0
}

/** `kill [-SIGNAL | -s SIGNAL] pid…`; a negative number is a process group. */
const kill: Program = async (process, args) => {
  const rest = [...args]
  let name = 'TERM'
  if (rest[0] === '-s') name = rest.splice(0, 2)[1] ?? ''
  else if (rest[0]?.startsWith('-') === true && rest[0] !== '--' && rest.length > 1) name = rest.shift()!.slice(1)
  if (rest[0] === '--') rest.shift()
  const signal = name === '0' ? null : parseSignal(name)
  if (signal === undefined) return fail(process, `kill: ${name}: unknown signal`)
  let status = 0
  for (const id of rest) {
    const pid = Number(id)
    const targets = [...process.machine.processes.values()].filter((each) =>
      pid < 0 ? each.group === -pid : each.pid === pid,
    )
    if (targets.length === 0) status = await fail(process, `kill: (${id}): No such process`)
    if (signal !== null) for (const target of targets) target.signal(signal)
  }
  await process.checkpoint()
  return status
}

/** Runs another program in this process. */
async function become(process: Parameters<Program>[0], argv: readonly string[]): Promise<number> {
  const [name = '', ...args] = argv
  const found = findExecutable(process.machine, { name, from: process.directory, environment: process.environment })
  if (found.kind === 'program') {
    process.command = argv.join(' ')
    return found.run(process, args)
  }
  const denied = found.kind === 'denied'
  return fail(process, `${name}: ${denied ? 'Permission denied' : 'No such file or directory'}`, denied ? 126 : 127)
}

const env: Program = async (process, args) => {
  const rest = [...args]
  const environment = new Map(rest[0] === '-i' ? [] : process.environment)
  if (rest[0] === '-i') rest.shift()
  while (rest[0]?.includes('=') === true) {
    const assignment = rest.shift()!
    environment.set(assignment.slice(0, assignment.indexOf('=')), assignment.slice(assignment.indexOf('=') + 1))
  }
  process.environment = environment
  if (rest.length > 0) return become(process, rest)
  await print(process, [...environment].map(([name, value]) => `${name}=${value}\n`).join(''))
  return 0
}

/** In a session of its own; a tree is killed all the same. */
const setsid: Program = async (process, args) => {
  if (process.group !== process.pid) {
    process.group = process.pid
    return become(process, args)
  }
  process.fork((child) => become(child, args), { newSession: true })
  return 0
}

const nohup: Program = (process, args) => {
  process.traps.set('SIGHUP', null)
  return become(process, args)
}

const sh: Program = async (process, args) => {
  const rest = [...args]
  const prelude = rest[0] === '-e' || rest[0] === '-ec' ? 'set -e\n' : ''
  if (rest[0] === '-e') rest.shift()
  if (rest[0] === '-c' || rest[0] === '-ec') {
    const [, text, name = 'sh', ...parameters] = rest
    if (text === undefined) return fail(process, 'sh: -c needs an argument', 2)
    return runShell(process, { text: prelude + text, name, parameters })
  }
  const [path, ...parameters] = rest
  try {
    if (path === undefined || path === '-s') {
      const text = decodePath(await readAll(process, []))
      process.setFile(0, NULL_DEVICE)
      return await runShell(process, { text: prelude + text, name: 'sh', parameters })
    }
    const { node } = placeOf(process, path)
    if (node?.type !== 'file') throw new PosixError(node === undefined ? 'ENOENT' : 'EISDIR')
    return await runShell(process, {
      text: prelude + decodePath(node.bytes.subarray(0, node.sizeBytes)),
      name: path,
      parameters,
    })
  } catch (error) {
    if (!(error instanceof PosixError)) throw error
    return fail(process, `sh: cannot open ${path}: ${error.message}`, 2)
  }
}

const id: Program = async (process, [option]) => {
  await print(process, option === undefined ? 'uid=0(root) gid=0(root)\n' : option.includes('n') ? 'root\n' : '0\n')
  return 0
}

const date: Program = async (process, [format]) => {
  const nowMs = process.machine.clock.nowMs()
  await print(process, format === '+%s' ? `${Math.floor(nowMs / 1_000)}\n` : `${new Date(nowMs).toUTCString()}\n`)
  return 0
}

const uname: Program = async (process) => {
  await print(process, 'Memory\n')
  return 0
}

const succeed: Program = () => Promise.resolve(0)
const refuse: Program = () => Promise.resolve(1)

export const PROCESS_PROGRAMS: Readonly<Record<string, Program>> = {
  date,
  env,
  false: refuse,
  id,
  kill,
  nohup,
  setsid,
  sh,
  sleep,
  true: succeed,
  uname,
}
