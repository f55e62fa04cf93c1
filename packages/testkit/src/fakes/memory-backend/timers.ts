/** Calls back later. The memory sandbox sleeps and times out by it, so that a test can turn the hands. */
export interface Timers {
  /** Returns a function that cancels it. */
  schedule(callback: () => void, delayMs: number): () => void
}

const MAX_DELAY_MS = 0x7fff_ffff

export const SYSTEM_TIMERS: Timers = {
  schedule(callback, delayMs) {
    const timer = setTimeout(callback, Math.min(delayMs, MAX_DELAY_MS))
    return () => clearTimeout(timer)
  },
}
