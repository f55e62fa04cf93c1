/**
 * Numbers in tar headers: octal text, or base-256 with the first bit set. Strict, because every leniency is one that
 * another reader does not share, and what two readers disagree on is how something passes one and harms the other.
 */

/** `undefined` when the field is not a number. `null` when it is blank. */
export type TarNumber = number | null | undefined

const SPACE = 0x20
const ZERO = 0x30
const SEVEN = 0x37

/** Where a field lies in a header block, in bytes. */
export type TarField = readonly [at: number, length: number]

/** Parses a field. Never negative unless `signed`, never beyond what a double holds exactly. */
export function parseTarNumber(header: Uint8Array, field: TarField, signed: boolean = false): TarNumber {
  return header[field[0]]! >= 0x80 ? parseBase256(header, field, signed) : parseOctal(header, field)
}

/** Spaces, then digits, then NULs and spaces to the end; or nothing but NULs and spaces, which is blank. */
function parseOctal(header: Uint8Array, [at, length]: TarField): TarNumber {
  const end = at + length
  let i = at
  while (i < end && header[i] === SPACE) i++
  const start = i
  let value = 0
  while (i < end && header[i]! >= ZERO && header[i]! <= SEVEN) value = value * 8 + (header[i++]! - ZERO)
  const digits = i - start
  while (i < end && (header[i] === 0 || header[i] === SPACE)) i++
  if (i !== end) return undefined
  return digits === 0 ? null : value
}

/** Big-endian two's complement of which the topmost bit is the mark. */
function parseBase256(header: Uint8Array, [at, length]: TarField, signed: boolean): TarNumber {
  const negative = header[at] === 0xff
  if (!negative && header[at] !== 0x80) return undefined
  let value = 0n
  for (let i = at + 1; i < at + length; i++) value = (value << 8n) | BigInt(header[i]!)
  if (negative) value -= 1n << BigInt(8 * (length - 1))
  if (value < 0n && !signed) return undefined
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : undefined
}

/** Writes octal digits and a NUL. False when the number does not fit, with the field left as zeros. */
export function formatOctal(value: number, header: Uint8Array, [at, length]: TarField): boolean {
  const fits = value >= 0 && value < 8 ** (length - 1)
  let left = fits ? value : 0
  for (let i = at + length - 2; i >= at; i--) {
    header[i] = ZERO + (left % 8)
    left = Math.floor(left / 8)
  }
  header[at + length - 1] = 0
  return fits
}
