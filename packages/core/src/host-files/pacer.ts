import { setImmediate } from 'node:timers/promises'

/** Longest stretch of synchronous work between two turns of the event loop. */
const STRETCH_MS = 4

/**
 * Cuts long synchronous work into stretches.
 *
 * Calls on small files take a few microseconds each; a trip through libuv's thread pool takes ten times that and occupies
 * one of its four threads. So files are worked on synchronously, and between stretches everybody else has a turn.
 */
export class Pacer {
  #since = performance.now()

  /** True when it is time to `await rest()`. */
  due(): boolean {
    return performance.now() - this.#since > STRETCH_MS
  }

  async rest(): Promise<void> {
    await setImmediate()
    this.#since = performance.now()
  }

  /** What took time was not ours: a new stretch begins. */
  restart(): void {
    this.#since = performance.now()
  }
}
