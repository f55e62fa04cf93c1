import { archiveRejected } from './archive-error.js'
import type { ArchiveEntry } from './archive-member.js'
import { formatPaxRecord, formatPaxTime } from './pax-records.js'
import { BLOCK_BYTES, FIELDS, tarChecksum } from './tar-header.js'
import { formatOctal } from './tar-number.js'
import type { TarField } from './tar-number.js'
import { encodePath } from '../path/path-bytes.js'

const TYPE_FLAGS = { file: '0', hardlink: '1', symlink: '2', directory: '5' } as const
const BILLION = 1_000_000_000n
const MAX_TIME_NS = 2n ** 63n - 1n
const MAX_ID = 0xffff_fffe
const SLASH = 0x2f

/**
 * The header blocks of one member: a ustar header, and before it a pax header for what ustar cannot say. A name is put into
 * pax unless it is ASCII, because readers disagree on the charset of ustar names.
 */
export function encodeTarHeader(entry: ArchiveEntry, sizeBytes: number): Uint8Array {
  checkEntry(entry)
  const block = new Uint8Array(BLOCK_BYTES)
  const pax: Uint8Array[] = []
  const name = entry.type === 'directory' ? `${entry.path}/` : entry.path
  if (!putName(block, encodePath(name))) pax.push(formatPaxRecord('path', name))
  if (entry.linkTarget !== undefined && !putText(block, FIELDS.linkName, encodePath(entry.linkTarget))) {
    pax.push(formatPaxRecord('linkpath', entry.linkTarget))
  }
  const number = (field: 'uid' | 'gid' | 'size', value: number): void => {
    if (!formatOctal(value, block, FIELDS[field])) pax.push(formatPaxRecord(field, String(value)))
  }
  formatOctal(entry.mode, block, FIELDS.mode)
  number('uid', entry.uid ?? 0)
  number('gid', entry.gid ?? 0)
  number('size', sizeBytes)
  const wholeSeconds = entry.mtimeNs % BILLION === 0n
  if (!formatOctal(Number(entry.mtimeNs / BILLION), block, FIELDS.mtime) || !wholeSeconds) {
    pax.push(formatPaxRecord('mtime', formatPaxTime(entry.mtimeNs)))
  }
  seal(block, TYPE_FLAGS[entry.type])
  return pax.length === 0 ? block : withPaxHeader(pax, block)
}

function checkEntry(entry: ArchiveEntry): void {
  const refuse = (reason: string): never => {
    throw archiveRejected(entry.path, reason)
  }
  const isLink = entry.type === 'symlink' || entry.type === 'hardlink'
  if (isLink !== (entry.linkTarget !== undefined)) refuse('links have a target, and nothing else has one')
  if (entry.linkTarget === '' || entry.linkTarget?.includes('\0')) refuse('its target is empty or has a NUL byte')
  if (!(entry.mode >= 0 && entry.mode <= 0o7777)) refuse('its mode has more than permission bits')
  if (entry.mtimeNs > MAX_TIME_NS || entry.mtimeNs < -MAX_TIME_NS) refuse('its time is out of range')
  for (const id of [entry.uid ?? 0, entry.gid ?? 0]) {
    if (!(Number.isInteger(id) && id >= 0 && id <= MAX_ID)) refuse('its owner is out of range')
  }
}

/** False, with as much of it in the field as a reader without pax can use, when ustar cannot hold the name. */
function putName(block: Uint8Array, name: Uint8Array): boolean {
  const [nameAt, nameLength] = FIELDS.name
  const [prefixAt, prefixLength] = FIELDS.prefix
  if (name.length <= nameLength || !isAscii(name)) return putText(block, FIELDS.name, name)
  // The slash at which it is cut is not stored. The one that ends a directory's name is no place to cut.
  const cut = name.subarray(0, prefixLength + 1).lastIndexOf(SLASH, name.length - 2)
  if (cut <= 0 || name.length - cut - 1 > nameLength) return putText(block, FIELDS.name, name)
  block.set(name.subarray(0, cut), prefixAt)
  block.set(name.subarray(cut + 1), nameAt)
  return true
}

function putText(block: Uint8Array, [at, length]: TarField, text: Uint8Array): boolean {
  block.set(text.subarray(0, length), at)
  return text.length <= length && isAscii(text)
}

function isAscii(text: Uint8Array): boolean {
  return text.every((byte) => byte < 0x80)
}

function seal(block: Uint8Array, typeFlag: string): void {
  block[FIELDS.type[0]] = typeFlag.charCodeAt(0)
  block.set(MAGIC, FIELDS.magic[0])
  const [at, length] = FIELDS.checksum
  formatOctal(tarChecksum(block), block, [at, length - 1])
  block[at + length - 1] = 0x20
}

const MAGIC = encodePath('ustar\x0000')
const PAX_NAME = encodePath('././@PaxHeader')

function withPaxHeader(records: readonly Uint8Array[], memberBlock: Uint8Array): Uint8Array {
  const bodyBytes = records.reduce((length, record) => length + record.length, 0)
  const paddedBytes = Math.ceil(bodyBytes / BLOCK_BYTES) * BLOCK_BYTES
  const whole = new Uint8Array(BLOCK_BYTES + paddedBytes + BLOCK_BYTES)
  const header = whole.subarray(0, BLOCK_BYTES)
  header.set(PAX_NAME, FIELDS.name[0])
  for (const field of ['mode', 'uid', 'gid', 'mtime'] as const) {
    formatOctal(field === 'mode' ? 0o644 : 0, header, FIELDS[field])
  }
  formatOctal(bodyBytes, header, FIELDS.size)
  seal(header, 'x')
  let at = BLOCK_BYTES
  for (const record of records) {
    whole.set(record, at)
    at += record.length
  }
  whole.set(memberBlock, BLOCK_BYTES + paddedBytes)
  return whole
}
