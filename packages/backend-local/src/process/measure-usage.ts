import { readFileSync } from 'node:fs'
import type { ResourceUsage } from '@cofferdam/core/plugin'

/** proc(5) counts in ticks, of which Linux shows 100 a second on every architecture that Node runs on. */
const MS_PER_TICK = 10
const PAGE_BYTES = 4096

/** What living processes use now. Elsewhere than on Linux only their number is known. */
export function measureUsage(pids: readonly number[]): ResourceUsage {
  if (process.platform !== 'linux') return { cpuMs: null, memoryBytes: null, processes: pids.length, diskBytes: null }
  let cpuMs = 0
  let memoryBytes = 0
  for (const pid of pids) {
    const fields = statFields(pid)
    cpuMs += (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * MS_PER_TICK
    memoryBytes += Number(fields[21] ?? 0) * PAGE_BYTES
  }
  return { cpuMs, memoryBytes, processes: pids.length, diskBytes: null }
}

/** Of /proc/PID/stat, from the state on. */
function statFields(pid: number): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}
