import type { Clock } from '@cofferdam/core/plugin'
import { PROGRAMS } from './commands/programs.js'
import type { Machine, MachineParts } from './process/machine.js'
import { SYSTEM_TIMERS } from './timers.js'
import type { Timers } from './timers.js'

const SYSTEM_CLOCK: Clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() }

export interface MemoryWorldOptions {
  /** Default: the machine's. */
  readonly clock?: Clock
  /** What `sleep` and timeouts go by. Default: the machine's. */
  readonly timers?: Timers
}

/** How much of a world is in use. */
export interface MemoryWorldUse {
  readonly sandboxes: number
  readonly processes: number
  /** File and output streams that were opened and neither drained nor cancelled. */
  readonly openStreams: number
}

/**
 * The provider behind the memory backend: it holds every sandbox. Clients that share a world are hosts of one provider:
 * what one of them made, another finds again after the first is gone.
 */
export class MemoryWorld {
  readonly machines: Map<string, Machine> = new Map()
  readonly parts: MachineParts

  constructor(options: MemoryWorldOptions) {
    this.parts = {
      clock: options.clock ?? SYSTEM_CLOCK,
      timers: options.timers ?? SYSTEM_TIMERS,
      counter: { openStreams: 0 },
      programs: PROGRAMS,
    }
  }

  get use(): MemoryWorldUse {
    let processes = 0
    for (const machine of this.machines.values()) processes += machine.processes.size
    return { sandboxes: this.machines.size, processes, openStreams: this.parts.counter.openStreams }
  }

  /** One line for everything alive, for a census before and after. */
  census(): string[] {
    const lines: string[] = []
    for (const machine of this.machines.values()) {
      lines.push(`sandbox ${machine.id} ${machine.name} ${machine.presence}`)
      for (const process of machine.processes.values())
        lines.push(`process ${machine.id} ${process.pid} ${process.command}`)
    }
    if (this.use.openStreams > 0) lines.push(`open streams: ${this.use.openStreams}`)
    return lines.sort()
  }

  /** Failures of the interpreter itself; empty in a sound world. */
  get defects(): readonly unknown[] {
    return [...this.machines.values()].flatMap((machine) => machine.defects)
  }
}

export function createMemoryWorld(options: MemoryWorldOptions = {}): MemoryWorld {
  return new MemoryWorld(options)
}
