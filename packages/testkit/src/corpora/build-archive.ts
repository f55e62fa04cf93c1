/**
 * Builds tar archives block by block, lies included: whatever a header says is what was asked for. Deliberately shares
 * nothing with the reader and the writer that are tested by what it makes.
 */

/** Text is written as UTF-8. */
export type RawBytes = string | Uint8Array
/** A number is written as octal digits and a NUL, a string as its characters, bytes as they are. */
export type RawNumber = number | string | Uint8Array

/** One header and what follows it. Everything has an honest default. */
export interface RawMember {
  readonly name?: RawBytes
  readonly prefix?: RawBytes
  readonly linkName?: RawBytes
  /** The type flag; default `0`. */
  readonly type?: string
  readonly mode?: RawNumber
  readonly uid?: RawNumber
  readonly gid?: RawNumber
  /** Default: the length of `body`. */
  readonly size?: RawNumber
  readonly mtime?: RawNumber
  readonly magic?: 'ustar' | 'gnu' | 'v7' | Uint8Array
  readonly checksum?: 'right' | 'wrong' | 'signed' | Uint8Array
  readonly body?: RawBytes
  /** Bytes to put over the header before the checksum is made. */
  readonly patch?: readonly (readonly [at: number, bytes: RawBytes])[]
}

const BLOCK = 512
const MAGIC = { ustar: 'ustar\x0000', gnu: 'ustar  \0', v7: '\0\0\0\0\0\0\0\0' } as const

export function rawMember(member: RawMember): Uint8Array {
  const header = new Uint8Array(BLOCK)
  const body = bytesOf(member.body ?? '')
  header.set(bytesOf(member.name ?? '').subarray(0, 100), 0)
  header.set(numberOf(member.mode ?? 0o644, 8), 100)
  header.set(numberOf(member.uid ?? 0, 8), 108)
  header.set(numberOf(member.gid ?? 0, 8), 116)
  header.set(numberOf(member.size ?? body.length, 12), 124)
  header.set(numberOf(member.mtime ?? 0, 12), 136)
  header.set(bytesOf(member.type ?? '0'), 156)
  header.set(bytesOf(member.linkName ?? '').subarray(0, 100), 157)
  const magic = member.magic ?? 'ustar'
  header.set(typeof magic === 'string' ? bytesOf(MAGIC[magic]) : magic, 257)
  header.set(bytesOf(member.prefix ?? '').subarray(0, 155), 345)
  for (const [at, bytes] of member.patch ?? []) header.set(bytesOf(bytes), at)
  header.set(checksumOf(header, member.checksum ?? 'right'), 148)
  return concatBytes([header, body, new Uint8Array((BLOCK - (body.length % BLOCK)) % BLOCK)])
}

export function rawFile(name: RawBytes, body: RawBytes = 'content', more: RawMember = {}): Uint8Array {
  return rawMember({ name, body, ...more })
}

export function rawDirectory(name: RawBytes, more: RawMember = {}): Uint8Array {
  return rawMember({ name, type: '5', mode: 0o755, ...more })
}

export function rawSymlink(name: RawBytes, linkName: RawBytes, more: RawMember = {}): Uint8Array {
  return rawMember({ name, type: '2', mode: 0o777, linkName, ...more })
}

export function rawHardlink(name: RawBytes, linkName: RawBytes, more: RawMember = {}): Uint8Array {
  return rawMember({ name, type: '1', linkName, ...more })
}

/** A pax header of honest records. `scope` `g` is for all members that follow. */
export function rawPax(records: Readonly<Record<string, RawBytes>>, scope: 'x' | 'g' = 'x'): Uint8Array {
  const body = concatBytes(Object.entries(records).map(([key, value]) => paxRecord(key, value)))
  return rawPaxBody(body, scope)
}

/** A pax header with any body. */
export function rawPaxBody(body: RawBytes, scope: 'x' | 'g' = 'x'): Uint8Array {
  return rawMember({ name: 'PaxHeader/x', type: scope, body })
}

/** GNU's way to say a long name (`L`) or link target (`K`): a member of its own. */
export function rawLong(type: 'L' | 'K', text: RawBytes): Uint8Array {
  return rawMember({ name: '././@LongLink', type, magic: 'gnu', body: concatBytes([bytesOf(text), Uint8Array.of(0)]) })
}

/** Parts in order, then the two zero blocks that mark the end. */
export function rawArchive(...parts: readonly Uint8Array[]): Uint8Array {
  return concatBytes([...parts, new Uint8Array(2 * BLOCK)])
}

/** The length counts its own digits. */
export function paxRecord(key: string, value: RawBytes): Uint8Array {
  const rest = concatBytes([bytesOf(` ${key}=`), bytesOf(value), bytesOf('\n')])
  let digits = 1
  while (String(rest.length + digits).length > digits) digits++
  return concatBytes([bytesOf(String(rest.length + digits)), rest])
}

/** Base-256 as GNU writes it: big-endian two's complement with the first bit set. */
export function base256(value: bigint, length: number): Uint8Array {
  const field = new Uint8Array(length)
  let left = value
  for (let i = length - 1; i > 0; i--) {
    field[i] = Number(left & 0xffn)
    left >>= 8n
  }
  field[0] = value < 0n ? 0xff : 0x80
  return field
}

export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

function bytesOf(raw: RawBytes): Uint8Array {
  return typeof raw === 'string' ? new TextEncoder().encode(raw) : raw
}

function numberOf(raw: RawNumber, length: number): Uint8Array {
  if (typeof raw === 'number') return bytesOf(`${raw.toString(8).padStart(length - 1, '0')}\0`)
  return bytesOf(raw).subarray(0, length)
}

function checksumOf(header: Uint8Array, kind: NonNullable<RawMember['checksum']>): Uint8Array {
  if (typeof kind !== 'string') return kind
  header.fill(0x20, 148, 156)
  let sum = kind === 'wrong' ? 1 : 0
  for (const byte of header) sum += kind === 'signed' ? (byte << 24) >> 24 : byte
  return bytesOf(`${sum.toString(8).padStart(6, '0')}\0 `)
}
