import { constants } from 'node:os'
import type { Signal } from '@cofferdam/core/plugin'

/** How a program itself ended. */
export interface ChildExit {
  readonly exitCode: number | null
  readonly signal: Signal | null
}

const NAMED: Readonly<Record<Signal, true>> = {
  SIGHUP: true,
  SIGINT: true,
  SIGQUIT: true,
  SIGILL: true,
  SIGTRAP: true,
  SIGABRT: true,
  SIGBUS: true,
  SIGFPE: true,
  SIGKILL: true,
  SIGUSR1: true,
  SIGSEGV: true,
  SIGUSR2: true,
  SIGPIPE: true,
  SIGALRM: true,
  SIGTERM: true,
  SIGCONT: true,
  SIGSTOP: true,
  SIGXCPU: true,
  SIGXFSZ: true,
  SIGWINCH: true,
  SIGSYS: true,
}

/** An end as Node tells it. Node has no name for real-time signals, and tells an end by one as exit code 0. */
export function exitOf(exitCode: number | null, signal: NodeJS.Signals | null): ChildExit {
  return signal === null ? { exitCode, signal: null } : exitBySignal(constants.signals[signal])
}

/** An end by a signal's number. One that the contract has no name for comes as shells tell it. */
export function exitBySignal(number: number): ChildExit {
  const name = Object.entries(constants.signals).find(([name, value]) => value === number && isNamed(name))?.[0]
  if (name === undefined || !isNamed(name)) return { exitCode: 128 + number, signal: null }
  return { exitCode: null, signal: name }
}

function isNamed(name: string): name is Signal {
  return Object.hasOwn(NAMED, name)
}
