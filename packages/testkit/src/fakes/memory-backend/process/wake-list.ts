/** Who waits for something to change. Waking is cheap, and a woken one looks again for itself. */
export class WakeList {
  readonly #waiting = new Set<() => void>()

  /** Returns a function that takes it off the list. */
  add(wake: () => void): () => void {
    this.#waiting.add(wake)
    return () => this.#waiting.delete(wake)
  }

  wakeAll(): void {
    if (this.#waiting.size === 0) return
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const wake of waiting) wake()
  }
}
