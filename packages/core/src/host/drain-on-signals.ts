const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/**
 * While there is something to drain, SIGINT and SIGTERM drain it first and then do what they would have done. Where the
 * application handles the signal itself, it also decides when the process ends.
 */
export class SignalDrain {
  readonly #drain: () => Promise<void>
  #installed = false
  #draining = false

  constructor(drain: () => Promise<void>) {
    this.#drain = drain
  }

  install(): void {
    if (this.#installed) return
    this.#installed = true
    for (const signal of SIGNALS) process.on(signal, this.#onSignal)
  }

  uninstall(): void {
    if (!this.#installed) return
    this.#installed = false
    for (const signal of SIGNALS) process.off(signal, this.#onSignal)
  }

  readonly #onSignal = (signal: NodeJS.Signals): void => {
    // A second signal means that the user will not wait.
    if (this.#draining) return this.#passOn(signal)
    this.#draining = true
    this.#drain().then(
      () => this.#passOn(signal),
      () => this.#passOn(signal),
    )
  }

  #passOn(signal: NodeJS.Signals): void {
    this.uninstall()
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
  }
}
