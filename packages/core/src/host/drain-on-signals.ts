const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** Listeners of all hosts of this process: they alone do not make the application the one who handles a signal. */
const ours = new Set<unknown>()

/**
 * While there is something to drain, SIGINT and SIGTERM drain it first and then do what they would have done. Where the
 * application handles the signal itself, it also decides when the process ends.
 */
export class SignalDrain {
  readonly #drain: () => Promise<void>
  #installed = false
  #draining = false
  #applicationDecides = false

  constructor(drain: () => Promise<void>) {
    this.#drain = drain
  }

  install(): void {
    if (this.#installed) return
    this.#installed = true
    ours.add(this.#onSignal)
    // First in line: a listener that the application has for one time only is gone once it was called.
    for (const signal of SIGNALS) process.prependListener(signal, this.#onSignal)
  }

  uninstall(): void {
    if (!this.#installed) return
    this.#installed = false
    for (const signal of SIGNALS) process.off(signal, this.#onSignal)
    ours.delete(this.#onSignal)
  }

  readonly #onSignal = (signal: NodeJS.Signals): void => {
    // A second signal means that the user will not wait.
    if (this.#draining) return this.#passOn(signal)
    this.#draining = true
    this.#applicationDecides = process.listeners(signal).some((listener) => !ours.has(listener))
    this.#drain().then(
      () => this.#passOn(signal),
      () => this.#passOn(signal),
    )
  }

  #passOn(signal: NodeJS.Signals): void {
    this.uninstall()
    if (!this.#applicationDecides && process.listenerCount(signal) === 0) process.kill(process.pid, signal)
  }
}
