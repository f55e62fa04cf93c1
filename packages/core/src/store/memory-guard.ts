import { SandboxError } from '../errors/sandbox-error.js'
import type { EnterOptions, ExecutionGuard, Lease } from '../contracts/guard.js'
import { aborted, throwIfAborted } from './check-argument.js'
import { leaseTimeout, parseEnter } from './lease/enter-options.js'
import { unavailable } from './map-file-error.js'

const STORE = 'memory guard'

/**
 * A guard among those who share this object, in order of arrival. A lease lasts until it is released: holder and waiters
 * live and die together, so there is nobody whose silence would have to be timed. `ttlMs` is checked and has no effect.
 */
export function createMemoryGuard(): ExecutionGuard {
  return new MemoryGuard()
}

class MemoryGuard implements ExecutionGuard {
  readonly reach = 'process'
  readonly #held = new Map<string, MemoryLease>()
  readonly #waiting = new Map<string, Set<(lease: MemoryLease) => void>>()
  readonly #closing = new AbortController()
  #fence = 0n

  async enter(key: string, options: EnterOptions = {}): Promise<Lease> {
    const { waitMs, signal } = parseEnter(key, options)
    throwIfAborted(signal)
    if (this.#closing.signal.aborted) throw closed()
    if (!this.#held.has(key)) return this.#grant(key)
    if (waitMs === 0) throw leaseTimeout(key, 0)
    return await this.#wait(key, waitMs, signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort()
    await Promise.all([...this.#held.values()].map((lease) => lease.release()))
  }

  async #wait(key: string, waitMs: number | undefined, signal: AbortSignal | undefined): Promise<Lease> {
    const waiters = this.#waiting.get(key) ?? new Set()
    this.#waiting.set(key, waiters)
    return await new Promise<Lease>((resolve, reject) => {
      const settle = (finish: () => void): void => {
        waiters.delete(onGrant)
        if (waiters.size === 0 && this.#waiting.get(key) === waiters) this.#waiting.delete(key)
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
        this.#closing.signal.removeEventListener('abort', onClose)
        finish()
      }
      const onGrant = (lease: MemoryLease): void => settle(() => resolve(lease))
      const onAbort = (): void => settle(() => reject(aborted(signal as AbortSignal)))
      const onClose = (): void => settle(() => reject(closed()))
      const onTimeout = (): void => settle(() => reject(leaseTimeout(key, waitMs ?? 0)))
      // Node turns longer delays into 1 ms; nobody waits for 24 days.
      const timer = waitMs === undefined || waitMs >= 2 ** 31 ? undefined : setTimeout(onTimeout, waitMs)
      waiters.add(onGrant)
      signal?.addEventListener('abort', onAbort, { once: true })
      this.#closing.signal.addEventListener('abort', onClose, { once: true })
    })
  }

  #grant(key: string): MemoryLease {
    const lease = new MemoryLease(key, ++this.#fence, () => this.#next(key))
    this.#held.set(key, lease)
    return lease
  }

  #next(key: string): void {
    this.#held.delete(key)
    for (const grant of this.#waiting.get(key) ?? []) return grant(this.#grant(key))
  }
}

class MemoryLease implements Lease {
  readonly key: string
  readonly fence: bigint
  readonly #lost = new AbortController()
  readonly #onRelease: () => void

  constructor(key: string, fence: bigint, onRelease: () => void) {
    this.key = key
    this.fence = fence
    this.#onRelease = onRelease
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  held(): boolean {
    return !this.#lost.signal.aborted
  }

  async release(): Promise<void> {
    if (!this.held()) return
    const { key } = this
    this.#lost.abort(new SandboxError('lease_lost', `The lease for ${key} was released.`, { key }))
    this.#onRelease()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release()
  }
}

function closed(): SandboxError<'store_unavailable'> {
  return unavailable(STORE, 'it was closed', { retryable: false })
}
