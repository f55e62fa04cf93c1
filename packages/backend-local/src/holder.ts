import { randomBytes } from 'node:crypto'
import { closeSync, fstatSync, openSync, readdirSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SandboxError } from '@cofferdam/core/plugin'
import { errnoOf } from './map-error.js'

const MAX_FENCE = (1n << 64n) - 1n
/** `fence-<20 digits>-<nonce>`, with `.left` once its holder let go by itself. */
const FENCE_FILE = /^fence-(\d{20})-([0-9a-f]{16})(\.left)?$/
/** Somebody whose processes must end, and may not have yet. */
const EVICTED_FILE = /^evicted-([0-9a-f]{16})$/
const STOPPED_FILE = 'stopped'

/** Our turn. */
export interface Turn {
  readonly fence: bigint
  /** In the environment of every process of this turn. */
  readonly nonce: string
  /** Whether nobody with a higher fence has started since. Costs a system call. */
  held(): boolean
  /** We go by ourselves: what still runs may go on. */
  leave(): void
}

/** What taking a turn found. */
export interface TakenTurn {
  readonly turn: Turn
  /** Nonces of holders that did not leave by themselves. Their processes are to be ended, then `forgetEvicted` called. */
  readonly evicted: readonly string[]
}

/**
 * Whose turn it is, as files: a holder keeps its own open, and the next one with a higher fence unlinks it. So a holder sees
 * by the link count of its descriptor that it has been replaced, in a microsecond and however long it slept, and who died is
 * known by the file it left. Files survive every process; the machine's own death ends all processes anyway.
 */
export class HolderFolder {
  readonly #folder: string
  readonly #sandbox: string

  constructor(folder: string, sandbox: string) {
    this.#folder = folder
    this.#sandbox = sandbox
  }

  /** Throws `lease_lost` when a higher fence was seen, `sandbox_gone` when the folder is not there. */
  take(fence: bigint): TakenTurn {
    if (fence < 0n || fence > MAX_FENCE) {
      const reason = 'it is not from 0 to 2^64 - 1'
      throw new SandboxError('invalid_argument', `The fence cannot be used: ${reason}.`, { argument: 'fence', reason })
    }
    const nonce = randomBytes(8).toString('hex')
    const file = join(this.#folder, `fence-${String(fence).padStart(20, '0')}-${nonce}`)
    const descriptor = this.#open(file)
    try {
      // Ours is there before the others are looked at: of two that start at once, the lower always sees the higher.
      if (this.#others().some((other) => other.fence > fence)) {
        unlinkSync(file)
        throw this.lost()
      }
      const evicted = this.#evictLower(fence)
      this.#setStopped(false)
      return { turn: this.#turn(fence, { nonce, file, descriptor }), evicted }
    } catch (error) {
      closeSync(descriptor)
      throw error
    }
  }

  forgetEvicted(nonces: readonly string[]): void {
    for (const nonce of nonces) unlinkThere(join(this.#folder, `evicted-${nonce}`))
  }

  stop(): void {
    this.#setStopped(true)
  }

  /** Started by anybody and not stopped since. */
  isRunning(): boolean {
    const names = this.#names()
    return !names.includes(STOPPED_FILE) && names.some((name) => FENCE_FILE.test(name))
  }

  lost(): SandboxError<'lease_lost'> {
    const message = `Somebody with a higher fence has started sandbox ${this.#sandbox}; this holder may not use it any more.`
    return new SandboxError('lease_lost', message, { key: this.#sandbox }, { backend: 'local' })
  }

  #turn(fence: bigint, own: { readonly nonce: string; readonly file: string; readonly descriptor: number }): Turn {
    let open = true
    return {
      fence,
      nonce: own.nonce,
      held: () => open && fstatSync(own.descriptor).nlink > 0,
      leave: () => {
        if (!open) return
        open = false
        closeSync(own.descriptor)
        try {
          renameSync(own.file, `${own.file}.left`)
        } catch (error) {
          // Replaced or removed meanwhile.
          if (errnoOf(error) !== 'ENOENT') throw error
        }
      },
    }
  }

  /** Those who left by themselves are only forgotten. Whom we evict is written down first, should we die before we are done. */
  #evictLower(fence: bigint): string[] {
    for (const other of this.#others()) {
      if (other.fence === fence) continue
      if (!other.left) writeFileSync(join(this.#folder, `evicted-${other.nonce}`), '', { mode: 0o600 })
      unlinkThere(join(this.#folder, other.name))
    }
    return this.#names().flatMap((name) => EVICTED_FILE.exec(name)?.[1] ?? [])
  }

  #others(): { readonly name: string; readonly fence: bigint; readonly nonce: string; readonly left: boolean }[] {
    return this.#names().flatMap((name) => {
      const [, fence, nonce, left] = FENCE_FILE.exec(name) ?? []
      // Commands can put files here too: a fence that no holder can have says nothing.
      if (fence === undefined || nonce === undefined || BigInt(fence) > MAX_FENCE) return []
      return [{ name, fence: BigInt(fence), nonce, left: left !== undefined }]
    })
  }

  #setStopped(stopped: boolean): void {
    const file = join(this.#folder, STOPPED_FILE)
    if (stopped) writeFileSync(file, '', { mode: 0o600 })
    else unlinkThere(file)
  }

  #open(file: string): number {
    try {
      return openSync(file, 'wx', 0o600)
    } catch (error) {
      throw errnoOf(error) === 'ENOENT' ? goneError(this.#sandbox) : error
    }
  }

  #names(): string[] {
    try {
      return readdirSync(this.#folder)
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return []
      throw error
    }
  }
}

export function goneError(sandbox: string): SandboxError<'sandbox_gone'> {
  return new SandboxError('sandbox_gone', `There is no sandbox ${sandbox} any more.`, { sandbox }, { backend: 'local' })
}

function unlinkThere(file: string): void {
  try {
    unlinkSync(file)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
  }
}
