import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { SandboxError } from '@cofferdam/core/plugin'
import type { SpawnRequest } from '@cofferdam/core/plugin'
import { FolderProcess } from './folder-process.js'
import { MARK, signalMarked } from './marked-processes.js'

/** An allow-list, and what the session adds to it: never the host's own environment. */
const BASE_ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin' }

export interface CommandPlace {
  readonly sandbox: string
  /** An existing directory. */
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
}

/** Starts a command in a process group of its own, marked so that it is found again. */
export async function startCommand(request: SpawnRequest, place: CommandPlace): Promise<FolderProcess> {
  const { command, env, stdin = 'closed' } = request
  assertUsable(request)
  const id = randomUUID()
  const mark = `${place.sandbox}/${id}`
  const [program = '', ...args] = typeof command === 'string' ? ['/bin/sh', '-c', command] : command
  const child = spawn(program, args, {
    cwd: place.cwd,
    env: { ...BASE_ENVIRONMENT, ...place.environment, ...env, [MARK]: mark },
    stdio: [stdin === 'pipe' ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    detached: true,
  })
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (error) => reject(notStarted(error.message)))
  })
  return new FolderProcess({ id, child, request, signalTree: (signal) => signalMarked(mark, signal) })
}

/** Node passes arguments and variables as UTF-8: what is not, and NUL, cannot be passed on. */
function assertUsable({ command, env = {} }: SpawnRequest): void {
  const parts = typeof command === 'string' ? [command] : command
  if (parts.length === 0 || !parts.every(isText))
    throw unusable('command', 'it is empty, or holds NUL or half a character')
  const named = Object.entries(env).every(([name, value]) => /^[^=]+$/.test(name) && isText(name) && isText(value))
  if (!named) throw unusable('env', "a name is empty or has a '=', or something in it holds NUL or half a character")
}

function isText(text: string): boolean {
  return !text.includes('\0') && !/\p{Surrogate}/u.test(text)
}

function unusable(argument: string, reason: string): SandboxError {
  return new SandboxError('invalid_argument', `${argument} cannot be used: ${reason}`, { argument, reason })
}

export function notStarted(reason: string): SandboxError {
  return new SandboxError('exec_not_started', `the command could not be started: ${reason}`, { reason })
}
