/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Another seed each time, or the one that is asked for; printed, so that a failure can be repeated. */
export function chooseSeed(test: string): number {
  const seed = Number(process.env['COFFERDAM_SEED'] ?? Date.now() % 2 ** 31)
  process.stdout.write(`${test}: COFFERDAM_SEED=${seed}\n`)
  return seed
}
