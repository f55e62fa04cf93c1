import type { Clock } from '@cofferdam/core/plugin'

/** A clock whose hands a test turns; timers of it fire as they pass by. */
export interface VirtualClock extends Clock {
  /** Calls back once so much time has passed. Returns a function that cancels it. */
  schedule(callback: () => void, delayMs: number): () => void
  /**
   * Lets time pass: fires what is due, in order, each at its own time, and lets promises settle in between. Both hands
   * move together.
   */
  advance(ms: number): Promise<void>
  /** Sets the wall clock alone, as NTP or a person does. No timer fires by it. */
  setWallClock(nowMs: number): void
  /** Timers that have not fired. */
  readonly pending: number
}

interface Timer {
  readonly dueMs: number
  readonly order: number
  readonly callback: () => void
}

/** Begins at the given time (default 2026-01-01T00:00:00Z), with its monotonic hand at 0. */
export function virtualClock(startMs: number = Date.UTC(2026, 0, 1)): VirtualClock {
  return new TurnedClock(startMs)
}

class TurnedClock implements VirtualClock {
  readonly #timers = new Set<Timer>()
  #wallOffsetMs: number
  #elapsedMs = 0
  #order = 0

  constructor(startMs: number) {
    this.#wallOffsetMs = startMs
  }

  get pending(): number {
    return this.#timers.size
  }

  nowMs(): number {
    return this.#wallOffsetMs + this.#elapsedMs
  }

  monotonicMs(): number {
    return this.#elapsedMs
  }

  schedule(callback: () => void, delayMs: number): () => void {
    const timer: Timer = { dueMs: this.#elapsedMs + Math.max(0, delayMs), order: this.#order++, callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  async advance(ms: number): Promise<void> {
    if (!(ms >= 0)) throw new TypeError('time passes forward: advance takes a number from 0')
    const endMs = this.#elapsedMs + ms
    await settle()
    for (let next = this.#next(endMs); next !== undefined; next = this.#next(endMs)) {
      this.#timers.delete(next)
      this.#elapsedMs = next.dueMs
      next.callback()
      await settle()
    }
    this.#elapsedMs = endMs
  }

  setWallClock(nowMs: number): void {
    this.#wallOffsetMs = nowMs - this.#elapsedMs
  }

  #next(endMs: number): Timer | undefined {
    let next: Timer | undefined
    for (const timer of this.#timers) {
      if (timer.dueMs > endMs) continue
      if (next === undefined || timer.dueMs < next.dueMs || (timer.dueMs === next.dueMs && timer.order < next.order))
        next = timer
    }
    return next
  }
}

/** Promises, and what they set off, run before time goes on. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
}
