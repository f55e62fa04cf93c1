import { setTimeout as sleep } from 'node:timers/promises'
import type { Signal } from '@cofferdam/core/plugin'
import { findFamily } from './find-processes.js'
import type { Family } from './find-processes.js'

/** Rounds of killing; a family that outlives them forks faster than we look. */
const MAX_ROUNDS = 200
const MAX_STOP_ROUNDS = 20

/**
 * Ends a family: first everybody is stopped, again until nobody new appears, so that nobody forks on while others are
 * killed; then all are killed, and the table is read until none is left.
 */
export async function killFamily(family: Family): Promise<void> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const members = holdStill(family)
    if (members.length === 0) return
    signalAll(members, 'SIGKILL')
    // Death is not instant: what it holds is let go first.
    await sleep(Math.min(20, round))
  }
}

/** Stops a family as a whole. Gives the members. */
export function holdStill(family: Family): number[] {
  const held = new Set<number>()
  for (let round = 0; round < MAX_STOP_ROUNDS; round++) {
    const fresh = findFamily(family).filter((pid) => !held.has(pid))
    if (fresh.length === 0) break
    signalAll(fresh, 'SIGSTOP')
    for (const pid of fresh) held.add(pid)
  }
  return [...held]
}

/** Sends a signal to every member that can be found. */
export function signalFamily(family: Family, signal: Signal): void {
  signalAll(findFamily(family), signal)
}

function signalAll(pids: readonly number[], signal: Signal): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // Ended meanwhile.
      continue
    }
  }
}
