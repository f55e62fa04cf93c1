import { z } from 'zod'
import type { JsonValue } from '../../errors/error-details.js'

/** Somebody who wants a key or has it. The ticket is random and names one call of `enter`. */
export interface Claimant {
  readonly ticket: string
  readonly owner: JsonValue
}

export interface Holder extends Claimant {
  readonly ttlMs: number
  /** Signs of life so far: while it grows, the holder lives. */
  readonly beat: number
  /**
   * When the last sign of life began, for those who can read the same clock; null for the others, who count from when they
   * first saw it.
   */
  readonly since: { readonly clock: string; readonly ms: number } | null
}

/** What the folder guard keeps per key. */
export interface LeaseRecord {
  readonly holder: Holder | null
  /** In order of arrival. */
  readonly queue: readonly Claimant[]
}

const owner = z.json() as z.ZodType<JsonValue>
const ticket = z.string().regex(/^[0-9a-f]{24}$/)
const recordSchema: z.ZodType<LeaseRecord> = z.strictObject({
  holder: z
    .strictObject({
      ticket,
      owner,
      ttlMs: z.number().min(1000),
      beat: z.number().int().nonnegative(),
      since: z.strictObject({ clock: z.string(), ms: z.number() }).nullable(),
    })
    .nullable(),
  queue: z.array(z.strictObject({ ticket, owner })),
})

export const FREE: LeaseRecord = { holder: null, queue: [] }

/** undefined when it is none. */
export function parseLeaseRecord(value: JsonValue | undefined): LeaseRecord | undefined {
  const parsed = recordSchema.safeParse(value)
  return parsed.success ? parsed.data : undefined
}

/** What an observer knows beyond the record. */
export interface LeaseWitness {
  /** The holder is proved dead, or its time is over. */
  hasEnded(holder: Holder): boolean
  /** A waiter is proved dead. */
  isDead(waiter: Claimant): boolean
  /** The key was free for so long that its first waiter must be standing still. */
  isStuck(first: Claimant): boolean
}

/** The key goes to `me` when it is free and nobody else is first; with `wait`, `me` queues up when not. */
export function claim(
  record: LeaseRecord,
  me: Holder,
  { witness, wait }: { readonly witness: LeaseWitness; readonly wait: boolean },
): LeaseRecord {
  const holder = record.holder !== null && witness.hasEnded(record.holder) ? null : record.holder
  let queue = record.queue.filter((waiter) => waiter.ticket === me.ticket || !witness.isDead(waiter))
  const [first] = queue
  if (holder === null && first !== undefined && first.ticket !== me.ticket && witness.isStuck(first)) {
    queue = queue.slice(1)
  }
  const isMine = holder === null && (queue.length === 0 || queue[0]?.ticket === me.ticket)
  if (isMine) return { holder: me, queue: queue.slice(1) }
  const isQueued = queue.some((waiter) => waiter.ticket === me.ticket)
  if (wait && !isQueued) queue = [...queue, { ticket: me.ticket, owner: me.owner }]
  return { holder, queue }
}

/** undefined when the key is not `me`'s. */
export function renew(record: LeaseRecord, me: Holder): LeaseRecord | undefined {
  return record.holder?.ticket === me.ticket ? { ...record, holder: me } : undefined
}

/** Neither holds nor waits any more; undefined when it did neither. */
export function leave(record: LeaseRecord, ticket: string): LeaseRecord | undefined {
  const holder = record.holder?.ticket === ticket ? null : record.holder
  const queue = record.queue.filter((waiter) => waiter.ticket !== ticket)
  return holder === record.holder && queue.length === record.queue.length ? undefined : { holder, queue }
}
