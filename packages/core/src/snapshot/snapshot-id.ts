import { randomBytes } from 'node:crypto'
import { SandboxError } from '../errors/sandbox-error.js'

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'
const TIME_DIGITS = 10
const RANDOM_BYTES = 16
const STAMP = '[0-9a-hjkmnp-tv-z]{26}'
const SLOT_HASH = /^[A-Za-z0-9_=]{1,128}$/
const SNAPSHOT_ID = new RegExp(`^${STAMP}-([A-Za-z0-9_=]{1,128})$`)

/** Matches what {@link createStamp} makes. */
export const STAMP_PATTERN: RegExp = new RegExp(`^${STAMP}$`)

/** 26 characters: the time, so that later ones sort behind earlier ones, and 80 random bits. */
export function createStamp(timeMs: number): string {
  let time = ''
  for (let i = 0, rest = timeMs; i < TIME_DIGITS; i++, rest = Math.floor(rest / 32)) time = DIGITS[rest % 32]! + time
  return time + Array.from(randomBytes(RANDOM_BYTES), (byte) => DIGITS[byte % 32]!).join('')
}

/** The id of a new snapshot; it names the slot, so that a ref alone says where the snapshot lies. */
export function createSnapshotId(timeMs: number, slotHash: string): string {
  return `${createStamp(timeMs)}-${checkSlotHash(slotHash)}`
}

/** Throws `invalid_argument` for what cannot be part of a key. */
export function checkSlotHash(slotHash: string): string {
  if (SLOT_HASH.test(slotHash)) return slotHash
  const reason = 'it must be 1 to 128 characters of A-Z a-z 0-9 _ ='
  throw new SandboxError('invalid_argument', `The slot hash cannot be used: ${reason}.`, {
    argument: 'slotHash',
    reason,
  })
}

/** The slot hash within an id. Throws `invalid_argument` for what is no id of ours. */
export function slotHashOf(id: string): string {
  const slotHash = SNAPSHOT_ID.exec(id)?.[1]
  if (slotHash !== undefined) return slotHash
  const reason = 'it is not an id that this engine made'
  throw new SandboxError(
    'invalid_argument',
    `The snapshot id ${JSON.stringify(id.slice(0, 80))} cannot be used: ${reason}.`,
    {
      argument: 'ref.id',
      reason,
    },
  )
}
