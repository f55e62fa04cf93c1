import { setTimeout as sleep } from 'node:timers/promises'
import type { Signal } from '@cofferdam/core/plugin'
import { findFamily } from './find-processes.js'
import type { Family, FamilyMembers } from './find-processes.js'

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
    if (members.pids.length === 0) return
    signalMembers(members, 'SIGKILL')
    // Death is not instant: what it holds is let go first.
    await sleep(Math.min(20, round))
  }
}

/** Stops a family as a whole: again until nobody is found who had not been stopped. */
export function holdStill(family: Family): FamilyMembers {
  const held = new Set<number>()
  let members = findFamily(family)
  for (let round = 0; round < MAX_STOP_ROUNDS && members.pids.some((pid) => !held.has(pid)); round++) {
    signalMembers(members, 'SIGSTOP')
    for (const pid of members.pids) held.add(pid)
    members = findFamily(family)
  }
  return members
}

/** Sends a signal to every member that can be found. */
export function signalFamily(family: Family, signal: Signal): void {
  const { pids } = findFamily(family)
  // One by one: who is in a group and a member is to get it once.
  for (const pid of pids) send(pid, signal)
}

function signalMembers({ pids, groups }: FamilyMembers, signal: Signal): void {
  for (const group of groups) send(-group, signal)
  for (const pid of pids) send(pid, signal)
}

function send(target: number, signal: Signal): void {
  try {
    process.kill(target, signal)
  } catch {
    // Ended meanwhile.
    return
  }
}
