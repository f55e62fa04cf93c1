import { readlinkSync } from 'node:fs'
import type { Clock } from '../../contracts/clock.js'
import { currentOwner } from '../owner-identity.js'

/** The clocks of this machine. `monotonicMs` is CLOCK_MONOTONIC: the same for all processes, still while suspended. */
export const machineClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => Number(process.hrtime.bigint()) / 1e6,
}

/**
 * Names what `machineClock.monotonicMs` counts from: equal names, equal clocks. null where that cannot be known.
 */
export function machineClockId(): string | null {
  const { bootId, host } = currentOwner()
  if (bootId === null || process.platform !== 'linux') return null
  try {
    return `${host} ${bootId} ${readlinkSync('/proc/self/ns/time')}`
  } catch {
    // Kernels before 5.6 have no time namespaces, unless /proc is missing; then there is no boot id either.
    return `${host} ${bootId}`
  }
}
