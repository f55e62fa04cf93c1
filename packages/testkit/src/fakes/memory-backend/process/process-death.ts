import type { ProcessExit, Signal } from '@cofferdam/core/plugin'

/** Thrown inside the body of a process that has ended, to unwind it. Never seen outside. */
export class ProcessEnded extends Error {
  override readonly name = 'ProcessEnded'
}

export type DeathSignal = Signal | 'SIGPIPE'

export const SIGNAL_NUMBERS: Readonly<Record<DeathSignal, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGTERM: 15,
  SIGCONT: 18,
  SIGSTOP: 19,
  SIGWINCH: 28,
}

/** How a process of the tree ended: a code, or a signal. */
export interface ProcessDeath {
  readonly exitCode: number
  readonly signal: DeathSignal | null
}

/** `TERM`, `SIGTERM` or `15`. */
export function parseSignal(text: string): Signal | undefined {
  const name = Object.entries(SIGNAL_NUMBERS).find(
    ([signal, number]) => signal === text || signal === `SIG${text}` || String(number) === text,
  )?.[0]
  return name === 'SIGPIPE' ? undefined : (name as Signal | undefined)
}

/** What a caller is told. SIGPIPE has no name there and comes as the exit code that a shell would give it. */
export function exitOf(death: ProcessDeath): Pick<ProcessExit, 'exitCode' | 'signal'> {
  if (death.signal === null || death.signal === 'SIGPIPE') return { exitCode: death.exitCode, signal: null }
  return { exitCode: null, signal: death.signal }
}
