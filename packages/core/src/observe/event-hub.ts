import type { Clock } from '../contracts/clock.js'
import type { Logger } from '../contracts/logger.js'
import type { EventSink, SandboxEvent, SandboxEventBody } from '../contracts/observer.js'

export interface EventHubOptions {
  readonly clock: Clock
  readonly logger: Logger
  /** Masks secrets in every text of an event. */
  readonly redact: (event: SandboxEvent) => SandboxEvent
}

/** Numbers the events of a host and hands them to sinks and listeners, in order. What one of them throws reaches nobody else. */
export class EventHub {
  readonly #options: EventHubOptions
  readonly #sinks: EventSink[] = []
  readonly #listeners = new Set<(event: SandboxEvent) => void>()
  #sequence = 0

  constructor(options: EventHubOptions) {
    this.#options = options
  }

  emit(sessionId: string | null, body: SandboxEventBody): void {
    const sequence = ++this.#sequence
    if (this.#sinks.length === 0 && this.#listeners.size === 0) return
    const header = { atMs: Math.round(this.#options.clock.nowMs()), sessionId, sequence }
    const event = this.#options.redact({ ...header, ...body })
    for (const sink of this.#sinks) this.#deliver(() => sink.emit(event))
    for (const listener of this.#listeners) this.#deliver(() => listener(event))
  }

  addSink(sink: EventSink): void {
    this.#sinks.push(sink)
  }

  subscribe(listener: (event: SandboxEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #deliver(give: () => void): void {
    try {
      give()
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      this.#options.logger.warn('an event listener threw', { reason })
    }
  }
}
