import { archiveRejected } from './archive-error.js'
import { decodePath, encodePath } from '../path/path-bytes.js'

/** What pax headers say about members, as far as it concerns us. */
export interface PaxAttributes {
  path?: string
  linkPath?: string
  sizeBytes?: number
  mtimeNs?: bigint
  uid?: number
  gid?: number
}

const LONGEST_LENGTH_DIGITS = 7
const DECIMAL = /^(?:0|[1-9][0-9]*)$/
const TIME = /^(-?)(0|[1-9][0-9]*)(?:\.([0-9]*))?$/
const CHARSETS = ['ISO-IR 10646 2000 UTF-8', 'BINARY']

/**
 * Records that change what a member *is* in ways not supported here: taking the member for a plain file would extract
 * something else than was archived.
 */
const REFUSED = /^(?:GNU\.|SCHILY\.(?:realsize|offset|dir)|SUN\.holesdata)/

const KNOWN = new Set(['path', 'linkpath', 'size', 'uid', 'gid', 'mtime', 'atime', 'ctime', 'hdrcharset'])

/**
 * Parses the body of a pax header: records `<length> <key>=<value>\n`, the length exact. Keys that cannot change a member's
 * name, type, size, time or owner (comments, extended attributes, ACLs) are passed over.
 */
export function parsePaxRecords(body: Uint8Array, scope: 'member' | 'global'): PaxAttributes {
  const attributes: PaxAttributes = {}
  const seen = new Set<string>()
  let at = 0
  while (at < body.length) {
    const length = recordLength(body, at)
    const end = at + length
    const keyAt = body.indexOf(0x20, at) + 1
    const valueAt = body.indexOf(0x3d, keyAt) + 1
    if (end > body.length || body[end - 1] !== 0x0a || valueAt === 0 || valueAt >= end || valueAt === keyAt + 1) {
      throw malformed('a record is not what its length says')
    }
    const key = decodePath(body.subarray(keyAt, valueAt - 1))
    readRecord(attributes, { key, value: body.subarray(valueAt, end - 1), scope, again: seen.has(key) })
    seen.add(key)
    at = end
  }
  return attributes
}

interface PaxRecord {
  readonly key: string
  readonly value: Uint8Array
  readonly scope: 'member' | 'global'
  readonly again: boolean
}

function readRecord(into: PaxAttributes, { key, value, scope, again }: PaxRecord): void {
  if (REFUSED.test(key)) throw malformed(`${key} is not supported`)
  if (!KNOWN.has(key)) return
  if (again) throw malformed(`it says ${key} twice`)
  if (scope === 'global' && ['path', 'linkpath', 'size'].includes(key)) {
    throw malformed(`a global ${key} would rename or resize every member`)
  }
  if (!assign(into, key, value)) throw malformed(`its ${key} is not one`)
}

/** False when the value is not one that the key can have. */
function assign(into: PaxAttributes, key: string, value: Uint8Array): boolean {
  const text = decodePath(value)
  switch (key) {
    case 'path':
      into.path = text
      return isPath(text)
    case 'linkpath':
      into.linkPath = text
      return isPath(text)
    case 'size':
      into.sizeBytes = Number(text)
      return isCount(text)
    case 'uid':
      into.uid = Number(text)
      return isCount(text)
    case 'gid':
      into.gid = Number(text)
      return isCount(text)
    case 'mtime': {
      const time = parseTime(text)
      if (time !== undefined) into.mtimeNs = time
      return time !== undefined
    }
    case 'atime':
    case 'ctime':
      return parseTime(text) !== undefined
    default:
      // Names are bytes here in any case; a charset in which they would be something else is not supported.
      return CHARSETS.includes(text)
  }
}

function isPath(text: string): boolean {
  return text !== '' && !text.includes('\0')
}

function isCount(text: string): boolean {
  return DECIMAL.test(text) && Number.isSafeInteger(Number(text))
}

function recordLength(body: Uint8Array, at: number): number {
  let length = 0
  for (let i = at; i - at <= LONGEST_LENGTH_DIGITS; i++) {
    const byte = body[i]
    if (byte === 0x20 && i > at) return length
    if (byte === undefined || byte < 0x30 || byte > 0x39 || (i === at && byte === 0x30)) break
    length = length * 10 + (byte - 0x30)
  }
  throw malformed('a record does not begin with its length')
}

/** Decimal seconds to nanoseconds; digits beyond the ninth are cut off. */
function parseTime(value: string): bigint | undefined {
  const match = TIME.exec(value)
  if (match === null || value.length > 64) return undefined
  const nanoseconds = BigInt(match[2]!) * 1_000_000_000n + BigInt((match[3] ?? '').slice(0, 9).padEnd(9, '0'))
  return match[1] === '-' ? -nanoseconds : nanoseconds
}

function malformed(reason: string): Error {
  return archiveRejected('', `a pax header is malformed: ${reason}`)
}

/** Formats one record; the value is a path's text, so that any bytes can be said. */
export function formatPaxRecord(key: string, value: string): Uint8Array {
  const body = encodePath(` ${key}=${value}\n`)
  let length = body.length + 1
  while (String(length).length + body.length !== length) length = String(length).length + body.length
  const digits = String(length)
  const record = new Uint8Array(length)
  for (let i = 0; i < digits.length; i++) record[i] = digits.charCodeAt(i)
  record.set(body, digits.length)
  return record
}

/** Decimal seconds, exact. */
export function formatPaxTime(nanoseconds: bigint): string {
  const magnitude = nanoseconds < 0n ? -nanoseconds : nanoseconds
  const fraction = String(magnitude % 1_000_000_000n)
    .padStart(9, '0')
    .replace(/0+$/, '')
  const text = `${magnitude / 1_000_000_000n}${fraction === '' ? '' : `.${fraction}`}`
  return nanoseconds < 0n ? `-${text}` : text
}
