import { setImmediate } from 'node:timers/promises'

/** The event loop is given a turn after this long. */
const TURN_MS = 8

/** `filter` for much at once: others get their turn in between. Throws the reason of the signal when that fires. */
export async function filterYielding<T>(
  all: readonly T[],
  isWanted: (each: T) => boolean,
  signal?: AbortSignal,
): Promise<T[]> {
  const wanted: T[] = []
  let turnStarted = performance.now()
  for (const each of all) {
    if (isWanted(each)) wanted.push(each)
    if (performance.now() - turnStarted < TURN_MS) continue
    await setImmediate()
    signal?.throwIfAborted()
    turnStarted = performance.now()
  }
  return wanted
}
