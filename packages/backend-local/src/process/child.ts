import { spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import type { TerminalSize } from '@cofferdam/core/plugin'
import { SandboxError } from '@cofferdam/core/plugin'
import { exitOf } from './child-exit.js'
import type { ChildExit } from './child-exit.js'
import type { SpawnPlan } from './plan-spawn.js'

/** A program that was started here, as leader of a session of its own. */
export interface Child {
  readonly pid: number
  readonly stdout: Readable
  /** Null on a terminal. */
  readonly stderr: Readable | null
  readonly stdin: Writable | null
  onExit(listener: (exit: ChildExit) => void): void
  resize(size: TerminalSize): void
  /** Whether it keeps this process alive. */
  holdOpen(hold: boolean): void
}

export interface StartChild extends SpawnPlan {
  readonly cwd: string
  readonly stdin: 'closed' | 'pipe'
}

/** Starts a program on pipes. Throws the system's error when it could not be started at all. */
export async function startChild(request: StartChild): Promise<Child> {
  const { file, args, env, cwd, stdin } = request
  // A detached child is led into a session and group of its own, see setsid(2).
  const child = spawn(file, args, {
    cwd,
    env,
    detached: true,
    stdio: [stdin === 'pipe' ? 'pipe' : 'ignore', 'pipe', 'pipe'],
  })
  if (child.pid === undefined) {
    throw await new Promise<Error>((resolve) => child.once('error', resolve))
  }
  // Failures to signal it are ours to see where we signal; an unheard event would end this process.
  child.on('error', () => undefined)
  child.stdin?.on('error', () => undefined)
  const exited = new Promise<ChildExit>((resolve) => {
    child.once('exit', (exitCode, signal) => resolve(exitOf(exitCode, signal)))
  })
  return {
    pid: child.pid,
    stdout: child.stdout as Readable,
    stderr: child.stderr as Readable,
    stdin: child.stdin,
    onExit: (listener) => void exited.then(listener),
    resize: () => {
      throw noTerminal()
    },
    holdOpen: (hold) => (hold ? child.ref() : child.unref()),
  }
}

function noTerminal(): SandboxError {
  const reason = 'the command was started without a terminal; ask for one with tty'
  return new SandboxError(
    'unsupported_feature',
    `It cannot be resized: ${reason}.`,
    { feature: 'tty', reason },
    { backend: 'local' },
  )
}
