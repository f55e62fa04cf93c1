/** What to do so that a failure leaves no trace, in reverse. Steps are added before the change that they undo. */
export class Rollback {
  readonly #steps: (() => Promise<void>)[] = []

  add(undo: () => Promise<void>): void {
    this.#steps.push(undo)
  }

  /**
   * Undoes everything, last first; a step that fails never keeps the others from being tried. Returns what to throw: the
   * error itself, or with it whatever could not be undone.
   */
  async run(error: unknown): Promise<unknown> {
    const failures: unknown[] = []
    for (const undo of this.#steps.splice(0).reverse()) {
      try {
        await undo()
      } catch (failure) {
        failures.push(failure)
      }
    }
    if (failures.length === 0) return error
    return new AggregateError(
      [error, ...failures],
      'The workspace could not be filled, and what was done not all undone.',
    )
  }
}
