import type { JsonValue } from '../errors/error-details.js'
import type { SandboxClient } from '../contracts/client.js'
import type { ExecutionGuard } from '../contracts/guard.js'
import type { Logger } from '../contracts/logger.js'
import type { StateStore } from '../contracts/state-store.js'
import { isSandboxError } from '../errors/sandbox-error.js'
import { parseRecord, recordToJson } from '../session/session-record.js'
import { recordKey, slotHash } from './slot-key.js'

export interface ParkedSandboxesOptions {
  readonly maxParked: number
  readonly states: StateStore
  readonly guard: ExecutionGuard
  readonly backends: ReadonlyMap<string, SandboxClient>
  readonly logger: Logger
}

/**
 * The sandboxes that this host parked and may destroy when there are too many: the least recently used goes first. Its
 * work is in its snapshot; one that was taken up again meanwhile, by whomever, is left alone.
 */
export class ParkedSandboxes {
  /** Slot → version of the record that parked it; in order of use. */
  readonly #parked = new Map<string, string>()
  readonly #options: ParkedSandboxesOptions

  constructor(options: ParkedSandboxesOptions) {
    this.#options = options
  }

  async add(slot: string, version: string): Promise<void> {
    this.#parked.delete(slot)
    this.#parked.set(slot, version)
    while (this.#parked.size > this.#options.maxParked) {
      const [oldest] = this.#parked
      if (oldest === undefined) return
      this.#parked.delete(oldest[0])
      await this.#evict(oldest[0], oldest[1])
    }
  }

  /** The slot is in use again. */
  forget(slot: string): void {
    this.#parked.delete(slot)
  }

  async #evict(slot: string, version: string): Promise<void> {
    try {
      const lease = await this.#options.guard.enter(slot, { waitMs: 0 })
      try {
        await this.#destroy(slot, version)
      } finally {
        await lease.release()
      }
    } catch (error) {
      if (isSandboxError(error, 'lease_timeout')) return
      // It stays parked until it expires and is reaped.
      const reason: JsonValue = error instanceof Error ? error.message : String(error)
      this.#options.logger.warn('a parked sandbox could not be destroyed', { slot, reason })
    }
  }

  async #destroy(slot: string, version: string): Promise<void> {
    const { states, backends } = this.#options
    const key = recordKey(slotHash(slot))
    const entry = await states.get(key)
    if (entry === undefined || entry.version !== version) return
    const record = parseRecord(slot, entry.value)
    const client = backends.get(record.backend)
    if (client === undefined || record.unsaved || record.snapshot === null) return
    const state = client.stateSchema.parse(record.sandboxState)
    const emptied = { ...record, compute: 'none' as const, sandboxState: null, expiresAtMs: null }
    await states.put(key, recordToJson(emptied), { ifVersion: version })
    await client.delete(state)
  }
}
