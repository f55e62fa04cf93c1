import type { Clock } from '../contracts/clock.js'
import type { EnterOptions, ExecutionGuard, Lease } from '../contracts/guard.js'
import { aborted, throwIfAborted } from './check-argument.js'
import { parseEnter, leaseTimeout } from './lease/enter-options.js'
import type { EnterRequest } from './lease/enter-options.js'
import { HeldLease } from './lease/held-lease.js'
import { FREE, claim, leave, parseLeaseRecord, renew } from './lease/lease-record.js'
import type { Holder, LeaseRecord, LeaseWitness } from './lease/lease-record.js'
import { machineClock, machineClockId } from './lease/machine-clock.js'
import { Sightings } from './lease/sightings.js'
import { unavailable } from './map-file-error.js'
import { currentOwner, judgeOwner } from './owner-identity.js'
import { FolderRegister } from './register/folder-register.js'
import type { RegisterState } from './register/folder-register.js'
import { parseJson } from './register/register-file.js'
import { randomToken } from './temporaries.js'

const STORE = 'folder guard'
/** How often a waiter looks when nothing calls it: dead holders give no sign. */
const POLL_MS = 150
/** A free key that its first waiter does not take for this long goes to the next. */
const STUCK_MS = 1000

export interface FolderGuardOptions {
  /** Made with mode 0700 when it is missing. One folder, one guard: nothing else may lie in it. */
  readonly folder: string
  /** Default true: fences keep growing across a power cut. Without, only across the death of processes. */
  readonly fsync?: boolean
  /** Default: the machine's. */
  readonly clock?: Clock
}

/**
 * A guard in a folder, among all processes of one machine, in order of arrival.
 *
 * Who holds a key and who waits is one compare-and-set register per key (see `FolderRegister`); there is no lock that could
 * stay. Every grant, renewal and release is a new version of it, and the version's number is the fence: it grows for ever,
 * also across releases, crashes and takeovers.
 *
 * Why never two believe that they hold a key. A holder believes it until s + 0.9 · ttl by the monotonic clock, where s is
 * read *before* the write of its grant or last renewal begins. Others take the key only by a write that follows the very
 * version they judged, so a renewal in between makes them fail; and they judge it free only when
 * (a) the holder gave it back, before which its `held` has turned false for ever;
 * (b) its process is proved dead; or
 * (c) the same renewal has been standing for the whole ttl: by their own clock since they first saw it, which was after s,
 *     or by the same clock since s. Then the holder has stopped believing at least 0.1 · ttl ago, whether its event loop
 *     runs or not, because `held` reads the clock itself.
 * A holder whose time is over does not renew, even when nobody has taken the key.
 *
 * On a network file system it excludes no more than it does here: the processes of one machine. Others see stale folders,
 * and their clocks and process numbers mean nothing; use a guard with reach `cluster`.
 */
export function createFolderGuard(options: FolderGuardOptions): ExecutionGuard {
  const { folder, fsync = true, clock } = options
  return new FolderGuard(new FolderRegister({ folder, fsync, store: STORE }), clock)
}

class FolderGuard implements ExecutionGuard {
  readonly reach = 'machine'
  readonly #register: FolderRegister
  readonly #clock: Clock
  readonly #clockId: string | null
  readonly #sightings: Sightings
  readonly #leases = new Set<HeldLease>()
  readonly #closing = new AbortController()

  constructor(register: FolderRegister, clock: Clock | undefined) {
    this.#register = register
    this.#clock = clock ?? machineClock
    this.#clockId = clock === undefined ? machineClockId() : null
    this.#sightings = new Sightings(this.#clock)
  }

  async enter(key: string, options: EnterOptions = {}): Promise<Lease> {
    const request = parseEnter(key, options)
    throwIfAborted(request.signal)
    const ticket = randomToken()
    const deadlineMs = this.#clock.monotonicMs() + (request.waitMs ?? Infinity)
    const { signal, forget } = eitherOf(this.#closing.signal, request.signal)
    try {
      for (;;) {
        const granted = await this.#claim(request, ticket, signal)
        if (granted.lease?.held() === true) return granted.lease
        await granted.lease?.release()
        const leftMs = deadlineMs - this.#clock.monotonicMs()
        if (leftMs <= 0) throw leaseTimeout(key, request.waitMs ?? 0)
        await this.#register.changed(key, granted.number, { timeoutMs: Math.min(leftMs, POLL_MS), signal })
      }
    } catch (error) {
      await this.#leave(key, ticket)
      if (this.#closing.signal.aborted) throw unavailable(STORE, 'it was closed', { retryable: false })
      if (request.signal?.aborted === true) throw aborted(request.signal)
      throw error
    } finally {
      forget()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort()
    await Promise.all([...this.#leases].map((lease) => lease.release()))
    await this.#register.close()
  }

  async #claim(
    request: EnterRequest,
    ticket: string,
    signal: AbortSignal,
  ): Promise<{ readonly number: number; readonly lease?: HeldLease }> {
    const { key, ttlMs } = request
    const wait = request.waitMs !== 0
    let mine = this.#holder(ticket, ttlMs, 0)
    const state = await this.#register.update(
      key,
      (current) => {
        const record = parseState(current)
        // The time of the grant is read here, before it is written.
        mine = this.#holder(ticket, ttlMs, 0)
        return changed(record, claim(record, mine.holder, { witness: this.#witness(key, record), wait }))
      },
      signal,
    )
    const number = state?.number ?? 0
    if (parseState(state).holder?.ticket !== ticket) return { number }
    return { number, lease: this.#lease(request, mine, BigInt(number)) }
  }

  #lease({ key, ttlMs }: EnterRequest, mine: { holder: Holder; startedAtMs: number }, fence: bigint): HeldLease {
    const { ticket } = mine.holder
    let beat = 0
    const lease = new HeldLease({
      key,
      fence,
      ttlMs,
      grantedAtMs: mine.startedAtMs,
      clock: this.#clock,
      renew: async (startedAtMs) => {
        const next = this.#holder(ticket, ttlMs, ++beat, startedAtMs).holder
        const state = await this.#register.update(key, (current) => {
          const renewed = renew(parseState(current), next)
          return renewed === undefined ? undefined : JSON.stringify(renewed)
        })
        const holder = parseState(state).holder
        return holder?.ticket === ticket && holder.beat === next.beat
      },
      giveBack: async () => {
        this.#leases.delete(lease)
        await this.#leave(key, ticket)
      },
    })
    this.#leases.add(lease)
    return lease
  }

  #holder(
    ticket: string,
    ttlMs: number,
    beat: number,
    startedAtMs: number = this.#clock.monotonicMs(),
  ): { readonly holder: Holder; readonly startedAtMs: number } {
    const since = this.#clockId === null ? null : { clock: this.#clockId, ms: startedAtMs }
    return { holder: { ticket, owner: currentOwner(), ttlMs, beat, since }, startedAtMs }
  }

  #witness(key: string, { holder, queue }: LeaseRecord): LeaseWitness {
    const condition = holder === null ? `free ${queue[0]?.ticket ?? ''}` : `held ${holder.ticket} ${holder.beat}`
    const durationMs = this.#sightings.durationMs(key, condition)
    const isOver = ({ ttlMs, since }: Holder): boolean =>
      durationMs >= ttlMs || (since?.clock === this.#clockId && this.#clock.monotonicMs() - since.ms >= ttlMs)
    return {
      hasEnded: (who) => isOver(who) || judgeOwner(who.owner) === 'dead',
      isDead: (who) => judgeOwner(who.owner) === 'dead',
      isStuck: () => holder === null && durationMs >= STUCK_MS,
    }
  }

  /** Best effort: what is left of a waiter or holder is met by the rules for those who give no sign. */
  async #leave(key: string, ticket: string): Promise<void> {
    const transition = (current: RegisterState | undefined): string | undefined => {
      const left = leave(parseState(current), ticket)
      return left === undefined ? undefined : JSON.stringify(left)
    }
    await this.#register.update(key, transition).catch(() => undefined)
  }
}

/** Unlike `AbortSignal.any`, it leaves nothing behind on a signal that lives as long as the guard. */
function eitherOf(one: AbortSignal, other: AbortSignal | undefined): { signal: AbortSignal; forget: () => void } {
  const either = new AbortController()
  const abort = (): void => either.abort()
  for (const signal of [one, other]) {
    signal?.addEventListener('abort', abort, { once: true })
    if (signal?.aborted === true) abort()
  }
  return {
    signal: either.signal,
    forget: () => [one, other].forEach((signal) => signal?.removeEventListener('abort', abort)),
  }
}

function changed(before: LeaseRecord, after: LeaseRecord): string | undefined {
  const text = JSON.stringify(after)
  return text === JSON.stringify(before) ? undefined : text
}

/** A record that cannot be read is no free one. */
function parseState(state: RegisterState | undefined): LeaseRecord {
  if (state === undefined) return FREE
  if ('corrupt' in state) throw unavailable(STORE, state.corrupt.message, { retryable: false, cause: state.corrupt })
  if (state.text === null) return FREE
  const record = parseLeaseRecord(parseJson(state.text))
  if (record === undefined) throw unavailable(STORE, 'a lease was written by another version', { retryable: false })
  return record
}
