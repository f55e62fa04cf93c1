/** Runs tasks of one key one after the other, in the order they were given; those of different keys side by side. */
export class SerialByKey {
  readonly #tails = new Map<string, Promise<void>>()

  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key)
    const result = before === undefined ? task() : before.then(task)
    const tail = result.then(ignore, ignore)
    this.#tails.set(key, tail)
    try {
      return await result
    } finally {
      if (this.#tails.get(key) === tail) this.#tails.delete(key)
    }
  }

  /** Resolves when everything given so far has ended. */
  async idle(): Promise<void> {
    await Promise.all(this.#tails.values())
  }
}

function ignore(): void {}
