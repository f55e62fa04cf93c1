import { acquireSession } from '../acquire/acquire.js'
import { drained } from '../acquire/claim-slot.js'
import type { HostContext } from '../acquire/host-context.js'
import { reap } from '../acquire/reap.js'
import type { AcquireRequest, Host, ReapRequest, ReapResult } from '../contracts/host.js'
import type { SandboxEvent } from '../contracts/observer.js'
import type { SandboxSession } from '../contracts/session.js'
import { SandboxError } from '../errors/sandbox-error.js'
import type { ComposedServices } from '../plugin/compose.js'
import { SignalDrain } from './drain-on-signals.js'

const DEFAULT_DEADLINE_MS = 25_000

/** The host that `createHost` returns. */
export class SessionHost implements Host {
  readonly #context: HostContext
  readonly #services: ComposedServices
  readonly #signals: SignalDrain | undefined
  /** Acquires under way: a drain waits for them, so that none comes to life after it. */
  readonly #acquiring = new Set<Promise<unknown>>()
  #drained: Promise<void> | undefined

  constructor(context: HostContext, services: ComposedServices, options: { readonly drainOnSignals: boolean }) {
    this.#context = context
    this.#services = services
    if (options.drainOnSignals) this.#signals = new SignalDrain(() => this.drain())
  }

  get deployment(): string {
    return this.#context.deployment
  }

  get backends(): readonly string[] {
    return [...this.#context.backends.keys()]
  }

  async acquire(request: AcquireRequest = {}): Promise<SandboxSession> {
    this.#assertOpen()
    this.#signals?.install()
    const acquiring = acquireSession(this.#context, request)
    this.#acquiring.add(acquiring)
    try {
      return await acquiring
    } finally {
      this.#acquiring.delete(acquiring)
    }
  }

  sessions(): readonly SandboxSession[] {
    return [...this.#context.live.handles]
  }

  async reap(request: ReapRequest = {}): Promise<ReapResult> {
    this.#assertOpen()
    return reap(this.#context, request)
  }

  onEvent(listener: (event: SandboxEvent) => void): () => void {
    return this.#context.subscribe(listener)
  }

  drain(options: { readonly deadlineMs?: number } = {}): Promise<void> {
    this.#drained ??= this.#drainAll(options.deadlineMs ?? DEFAULT_DEADLINE_MS)
    return this.#drained
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain()
  }

  async #drainAll(deadlineMs: number): Promise<void> {
    const failures: unknown[] = []
    await within(deadlineMs, this.#releaseAll(failures)).catch((error: unknown) => failures.push(error))
    this.#signals?.uninstall()
    for (const sink of this.#services.sinks) await sink.close().catch((error: unknown) => failures.push(error))
    try {
      await this.#services[Symbol.asyncDispose]()
    } catch (error) {
      failures.push(error)
    }
    if (failures.length > 0) throw new AggregateError(failures, 'the host could not be drained cleanly')
  }

  async #releaseAll(failures: unknown[]): Promise<void> {
    // Whoever waits for a slot may wait for a session of this very host.
    this.#context.live.draining = true
    for (const waiting of this.#context.live.waiting) waiting.abort()
    await this.#releaseLive(failures)
    await Promise.allSettled(this.#acquiring)
    // Those that were beyond waiting have come to life meanwhile.
    await this.#releaseLive(failures)
  }

  async #releaseLive(failures: unknown[]): Promise<void> {
    const released = await Promise.allSettled(this.sessions().map((session) => session.release()))
    for (const result of released) if (result.status === 'rejected') failures.push(result.reason)
  }

  #assertOpen(): void {
    if (this.#drained !== undefined) throw drained()
  }
}

async function within(deadlineMs: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const message = `not all sessions could be released within ${deadlineMs} ms; their sandboxes are kept, and reaped later`
      reject(new SandboxError('timeout', message, { timeoutMs: deadlineMs }))
    }, deadlineMs)
  })
  try {
    await Promise.race([work, over])
  } finally {
    clearTimeout(timer)
  }
}
