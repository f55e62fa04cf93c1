import { isDeepStrictEqual } from 'node:util'
import type { Lease } from '../contracts/guard.js'
import type { StateStore } from '../contracts/state-store.js'
import { isSandboxError, SandboxError } from '../errors/sandbox-error.js'
import { recordToJson } from '../session/session-record.js'
import type { SessionRecord } from '../session/session-record.js'

/**
 * The only writer of a record during one turn. Every write goes on from the version that the one before it made, so a
 * holder that was overtaken without noticing learns it here and changes nothing.
 */
export class RecordKeeper {
  readonly lost: AbortSignal
  readonly #lost = new AbortController()
  readonly #store: StateStore
  readonly #key: string
  readonly #lease: Lease
  #record: SessionRecord
  #version: string
  #queue: Promise<unknown> = Promise.resolve()
  /** A write whose reply was lost: it may have happened. */
  #inDoubt: SessionRecord | undefined

  private constructor(
    store: StateStore,
    key: string,
    lease: Lease,
    claimed: { record: SessionRecord; version: string },
  ) {
    this.#store = store
    this.#key = key
    this.#lease = lease
    this.#record = claimed.record
    this.#version = claimed.version
    this.lost = this.#lost.signal
    if (lease.lost.aborted) this.#onLeaseLost()
    else lease.lost.addEventListener('abort', this.#onLeaseLost, { once: true })
  }

  /** Writes the first record of a turn over `version` (null = there is none). Throws `busy` when somebody else was faster. */
  static async claim(
    store: StateStore,
    key: string,
    lease: Lease,
    first: { record: SessionRecord; over: string | null },
  ): Promise<RecordKeeper> {
    assertLease(lease)
    try {
      const { version } = await store.put(key, recordToJson(first.record), { ifVersion: first.over })
      return new RecordKeeper(store, key, lease, { record: first.record, version })
    } catch (error) {
      if (!isSandboxError(error, 'state_conflict')) throw error
      const slot = first.record.slot
      throw new SandboxError(
        'busy',
        `somebody else claimed ${slot} at the same moment; try again`,
        { slot, holder: null },
        {
          cause: error,
        },
      )
    }
  }

  readonly #onLeaseLost = (): void => this.#lost.abort()

  /** The lease is about to be given back: its end is no loss from now on. */
  retire(): void {
    this.#lease.lost.removeEventListener('abort', this.#onLeaseLost)
  }

  get record(): SessionRecord {
    return this.#record
  }

  get version(): string {
    return this.#version
  }

  /** Throws `lease_lost` unless the slot is ours for certain. */
  assertHeld = (): void => {
    if (this.#lost.signal.aborted || !this.#lease.held()) {
      this.#lost.abort()
      throw lostSlot(this.#record.slot)
    }
  }

  /** Writes what `change` makes of the record. One at a time, in order. Throws `lease_lost`, `store_unavailable`. */
  write(change: (record: SessionRecord) => SessionRecord): Promise<void> {
    const written = this.#queue.then(async () => {
      this.assertHeld()
      await this.#settleDoubt()
      const next = change(this.#record)
      try {
        const { version } = await this.#store.put(this.#key, recordToJson(next), { ifVersion: this.#version })
        this.#version = version
        this.#record = next
      } catch (error) {
        if (!isSandboxError(error, 'state_conflict')) this.#inDoubt = next
        throw this.#explain(error)
      }
    })
    this.#queue = written.catch(() => undefined)
    return written
  }

  /** Removes the record: only for slots that nobody else can ever claim. */
  delete(): Promise<void> {
    const deleted = this.#queue.then(async () => {
      this.assertHeld()
      await this.#settleDoubt()
      await this.#store.delete(this.#key, { ifVersion: this.#version })
    })
    this.#queue = deleted.catch(() => undefined)
    return deleted
  }

  /** Reads back what became of a write whose reply was lost, so that our own success is not taken for another's. */
  async #settleDoubt(): Promise<void> {
    const attempted = this.#inDoubt
    if (attempted === undefined) return
    const entry = await this.#store.get(this.#key)
    if (
      entry !== undefined &&
      entry.version !== this.#version &&
      isDeepStrictEqual(entry.value, recordToJson(attempted))
    ) {
      this.#version = entry.version
      this.#record = attempted
    }
    this.#inDoubt = undefined
  }

  #explain(error: unknown): unknown {
    if (!isSandboxError(error, 'state_conflict')) return error
    this.#lost.abort()
    return lostSlot(this.#record.slot, error)
  }
}

function assertLease(lease: Lease): void {
  if (!lease.held()) throw lostSlot(lease.key)
}

function lostSlot(slot: string, cause?: unknown): SandboxError<'lease_lost'> {
  return new SandboxError(
    'lease_lost',
    `${slot} is no longer ours: another holder took it over. Nothing was written; acquire it again.`,
    { key: slot },
    { cause },
  )
}
