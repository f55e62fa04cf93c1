import type { ProcessExit, Signal } from '@cofferdam/core/plugin'

/** Thrown inside the body of a process that has ended, to unwind it. Never seen outside. */
export class ProcessEnded extends Error {
  override readonly name = 'ProcessEnded'
}

/** SIGPROF stands for those that the contract has no name for. */
export type DeathSignal = Signal | 'SIGPROF'

export const SIGNAL_NUMBERS: Readonly<Record<DeathSignal, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGBUS: 7,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGSEGV: 11,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
  SIGCONT: 18,
  SIGSTOP: 19,
  SIGXCPU: 24,
  SIGXFSZ: 25,
  SIGPROF: 27,
  SIGWINCH: 28,
  SIGSYS: 31,
}

/** How a process of the tree ended: a code, or a signal. */
export interface ProcessDeath {
  readonly exitCode: number
  readonly signal: DeathSignal | null
}

/** `TERM`, `SIGTERM` or `15`. */
export function parseSignal(text: string): DeathSignal | undefined {
  return Object.entries(SIGNAL_NUMBERS).find(
    ([signal, number]) => signal === text || signal === `SIG${text}` || String(number) === text,
  )?.[0] as DeathSignal | undefined
}

/** What a caller is told. */
export function exitOf(death: ProcessDeath): Pick<ProcessExit, 'exitCode' | 'signal'> {
  if (death.signal === null || death.signal === 'SIGPROF') return { exitCode: death.exitCode, signal: null }
  return { exitCode: null, signal: death.signal }
}
