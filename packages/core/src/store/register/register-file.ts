import { createHash } from 'node:crypto'
import type { JsonValue } from '../../errors/error-details.js'

/** One version of one key. */
export interface RegisterEntry {
  readonly key: string
  /** Counts the writes of this key, from 1, and is never used twice. */
  readonly number: number
  /** Random: tells this write from one with the same number in a folder that was emptied meanwhile. */
  readonly token: string
  /** For the last version of an epoch: the folder of the one that follows. */
  readonly next: string | null
  /** JSON text; null marks a deletion. */
  readonly text: string | null
}

const HEADER = /^cofferdam-register 1 ([0-9a-f]{64})$/
const EPOCH_NAME = /^[0-9]{1,16}-[0-9a-f]{24}$/

/** The largest file that `encodeEntry` makes of a value of 1 MiB, and some. */
export const MAX_ENTRY_BYTES: number = 2 * 1024 * 1024

/** Three lines: format and SHA-256 of the rest, what the entry is, its value. */
export function encodeEntry({ text, ...meta }: RegisterEntry): Uint8Array {
  const rest = `${JSON.stringify(meta)}\n${text ?? ''}\n`
  return Buffer.from(`cofferdam-register 1 ${digest(rest)}\n${rest}`)
}

/** The entry, or what is wrong with the bytes. */
export function decodeEntry(bytes: Uint8Array, expected: { key: string; number: number }): RegisterEntry | string {
  const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const headerEnd = content.indexOf(10)
  const header = HEADER.exec(content.toString('latin1', 0, Math.max(headerEnd, 0)))
  if (header === null) return 'it does not begin like a file of this store'
  const rest = content.subarray(headerEnd + 1)
  if (digest(rest) !== header[1]) return 'its checksum does not fit its contents'
  const [metaLine = '', text = '', end, more] = rest.toString('utf8').split('\n')
  if (end !== '' || more !== undefined) return 'it does not have three lines'
  const meta = parseMeta(metaLine)
  if (meta === undefined) return 'it does not say what it is'
  if (meta.key !== expected.key || meta.number !== expected.number) return 'it belongs to another key or version'
  return { ...meta, text: text === '' ? null : text }
}

function parseMeta(line: string): Omit<RegisterEntry, 'text'> | undefined {
  const value = parseJson(line)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const { key, number, token, next, ...others } = value as { readonly [name: string]: JsonValue }
  if (Object.keys(others).length > 0 || typeof key !== 'string' || typeof token !== 'string') return undefined
  if (typeof number !== 'number' || !Number.isSafeInteger(number)) return undefined
  if (next !== null && !(typeof next === 'string' && EPOCH_NAME.test(next))) return undefined
  return { key, number, token, next }
}

/** undefined when it is no JSON. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return undefined
  }
}

function digest(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}
