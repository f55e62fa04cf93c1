import { archiveRejected } from './archive-error.js'
import { decodePath } from '../path/path-bytes.js'
import { parseTarNumber } from './tar-number.js'
import type { TarField } from './tar-number.js'

export const BLOCK_BYTES = 512

type FieldName =
  'name' | 'mode' | 'uid' | 'gid' | 'size' | 'mtime' | 'checksum' | 'type' | 'linkName' | 'magic' | 'prefix'

/** Where the fields of a header lie. */
export const FIELDS: Readonly<Record<FieldName, TarField>> = {
  name: [0, 100],
  mode: [100, 8],
  uid: [108, 8],
  gid: [116, 8],
  size: [124, 12],
  mtime: [136, 12],
  checksum: [148, 8],
  type: [156, 1],
  linkName: [157, 100],
  magic: [257, 8],
  prefix: [345, 155],
}

/** A header as it stands in the archive, before extension headers change it. */
export interface TarHeader {
  /** The type flag, one character; NUL has become `0`. */
  readonly type: string
  readonly name: string
  readonly linkName: string
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly sizeBytes: number
  readonly mtimeSeconds: number
}

const MAGIC_POSIX = 'ustar\0' + '00'
const MAGIC_GNU = 'ustar  \0'
const MAGIC_V7 = '\0'.repeat(8)
const SPACE = 0x20

/** Reads one header block, strictly. Throws `archive_rejected`. */
export function readTarHeader(block: Uint8Array): TarHeader {
  if (parseTarNumber(block, FIELDS.checksum) !== tarChecksum(block)) {
    throw archiveRejected('', 'a header has a wrong checksum; this is not a tar, or it is damaged')
  }
  const magic = latin1(block, FIELDS.magic)
  const name = nameOf(block, magic)
  const number = (field: 'mode' | 'uid' | 'gid' | 'size' | 'mtime', signed = false): number => {
    const value = parseTarNumber(block, FIELDS[field], signed)
    // A blank size may be read as none or as an error; any other blank is zero to everybody.
    if (value === undefined || (value === null && field === 'size')) {
      throw archiveRejected(name, `the ${field} in its header is not a number that can be used`)
    }
    return value ?? 0
  }
  const type = String.fromCharCode(block[FIELDS.type[0]]!)
  return {
    type: type === '\0' ? '0' : type,
    name,
    linkName: textField(block, FIELDS.linkName),
    mode: number('mode'),
    uid: number('uid'),
    gid: number('gid'),
    sizeBytes: number('size'),
    mtimeSeconds: number('mtime', true),
  }
}

/** Sum of all bytes as unsigned numbers, the checksum's own field counted as spaces. */
export function tarChecksum(block: Uint8Array): number {
  const [at, length] = FIELDS.checksum
  let sum = length * SPACE
  for (let i = 0; i < at; i++) sum += block[i]!
  for (let i = at + length; i < BLOCK_BYTES; i++) sum += block[i]!
  return sum
}

export function isZeroBlock(block: Uint8Array): boolean {
  return block.every((byte) => byte === 0)
}

function nameOf(block: Uint8Array, magic: string): string {
  const name = textField(block, FIELDS.name)
  if (magic === MAGIC_GNU || magic === MAGIC_V7) return name
  if (magic !== MAGIC_POSIX) throw archiveRejected(name, 'its header is of no known tar format')
  // star keeps times where POSIX has the end of the prefix; readers that do not know it see another name.
  if (!block.subarray(FIELDS.prefix[0] + FIELDS.prefix[1]).every((byte) => byte === 0)) {
    throw archiveRejected(name, 'there is something behind the fields of its header')
  }
  const prefix = textField(block, FIELDS.prefix)
  return prefix === '' ? name : `${prefix}/${name}`
}

/** Up to the first NUL; behind it there may be only NULs, or the name would depend on the reader. */
function textField(block: Uint8Array, [at, length]: TarField): string {
  const field = block.subarray(at, at + length)
  const end = field.indexOf(0)
  if (end === -1) return decodePath(field)
  const text = decodePath(field.subarray(0, end))
  for (let i = end; i < length; i++) {
    if (field[i] !== 0) throw archiveRejected(text, 'a name in its header goes on behind a NUL byte')
  }
  return text
}

function latin1(block: Uint8Array, [at, length]: TarField): string {
  let text = ''
  for (let i = at; i < at + length; i++) text += String.fromCharCode(block[i]!)
  return text
}
