import type { SessionStatus } from '../contracts/session.js'
import { SandboxError } from '../errors/sandbox-error.js'

/** Where each status may lead. */
const TRANSITIONS: Readonly<Record<SessionStatus, readonly SessionStatus[]>> = {
  new: ['starting', 'failed'],
  starting: ['ready', 'failed'],
  ready: ['stopping', 'failed'],
  stopping: ['stopped', 'failed'],
  stopped: ['closed'],
  failed: ['closed'],
  closed: [],
}

/** What a caller wants to do; the table says in which statuses it may. */
export type SessionAction = 'use' | 'look' | 'release'

const ALLOWED: Readonly<Record<SessionAction, readonly SessionStatus[]>> = {
  // Hooks run while starting and, before the stop, while still ready.
  use: ['starting', 'ready'],
  look: ['new', 'starting', 'ready', 'stopping', 'stopped', 'closed', 'failed'],
  release: ['new', 'starting', 'ready', 'stopping', 'stopped', 'closed', 'failed'],
}

export function mayMove(from: SessionStatus, to: SessionStatus): boolean {
  return TRANSITIONS[from].includes(to)
}

/** Throws `not_running` when the table does not allow the action. */
export function assertAllowed(status: SessionStatus, action: SessionAction): void {
  if (ALLOWED[action].includes(status)) return
  throw new SandboxError(
    'not_running',
    `the session is ${status}; commands and files need one that is ready. Acquire it again.`,
    { status },
  )
}
