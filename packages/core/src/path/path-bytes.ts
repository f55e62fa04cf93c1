/**
 * Names are bytes; paths in contracts are strings. The bridge is surrogateescape: valid UTF-8 is read as text, every byte
 * that is not part of valid UTF-8 becomes one lone surrogate U+DC80–U+DCFF (0xDC00 plus the byte) and turns back into that
 * byte. Any bytes survive bytes → text → bytes. An escape always stands for a byte ≥ 0x80, so that it can never become a
 * slash, a dot or a NUL.
 */
import { SandboxError } from '../errors/sandbox-error.js'

const ESCAPE_BASE = 0xdc00
const LONE_SURROGATE = /\p{Surrogate}/u
const SLASH = 0x2f
const encoder = new TextEncoder()

/**
 * The bytes of a path. Throws `invalid_argument` for a lone surrogate that is not an escape (U+D800–U+DC7F,
 * U+DD00–U+DFFF): there are no bytes that it could mean.
 */
export function encodePath(text: string): Uint8Array {
  return LONE_SURROGATE.test(text) ? encodeEscaped(text) : encoder.encode(text)
}

/** The text of a path's bytes. Never throws. */
export function decodePath(bytes: Uint8Array): string {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const text = view.toString('utf8')
  // U+FFFD is either a replacement, or was really there; only a closer look can tell.
  return text.includes('\ufffd') ? decodeEscaped(view) : text
}

/** Length in bytes, which is what file systems limit. Throws as {@link encodePath}. */
export function pathByteLength(text: string): number {
  return LONE_SURROGATE.test(text) ? encodeEscaped(text).length : Buffer.byteLength(text, 'utf8')
}

/**
 * The one spelling of a path that several texts may have: escapes which together are valid UTF-8 become the character.
 * Texts with the same bytes have the same canonical text.
 */
export function canonicalPathText(text: string): string {
  return LONE_SURROGATE.test(text) ? decodePath(encodeEscaped(text)) : text
}

/**
 * Order of trees: by the bytes of each component in turn, a parent before what it holds; so `a`, `a/b`, `a-b`. A plain
 * comparison of strings differs in both: `-` sorts before `/`, and UTF-16 sorts astral characters before U+E000.
 */
export function comparePaths(a: string, b: string): number {
  const shared = Math.min(a.length, b.length)
  for (let i = 0; i < shared; i++) {
    const left = a.charCodeAt(i)
    const right = b.charCodeAt(i)
    if (left === right) continue
    if (left >= 0xd800 || right >= 0xd800) return compareEncoded(encodePath(a), encodePath(b))
    if (left === SLASH) return -1
    if (right === SLASH) return 1
    return left - right
  }
  return a.length - b.length
}

function compareEncoded(a: Uint8Array, b: Uint8Array): number {
  const shared = Math.min(a.length, b.length)
  for (let i = 0; i < shared; i++) {
    const left = a[i] === SLASH ? 0 : a[i]!
    const right = b[i] === SLASH ? 0 : b[i]!
    if (left !== right) return left - right
  }
  return a.length - b.length
}

function encodeEscaped(text: string): Uint8Array {
  const parts: Uint8Array[] = []
  let from = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0xd800 || unit > 0xdfff) continue
    const next = text.charCodeAt(i + 1)
    if (unit < 0xdc00 && next >= 0xdc00 && next <= 0xdfff) {
      i++
      continue
    }
    if (unit < 0xdc80 || unit > 0xdcff) throw unencodable(unit)
    if (i > from) parts.push(encoder.encode(text.slice(from, i)))
    parts.push(Uint8Array.of(unit - ESCAPE_BASE))
    from = i + 1
  }
  if (from < text.length) parts.push(encoder.encode(text.slice(from)))
  return concatenate(parts)
}

function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

function unencodable(unit: number): SandboxError {
  const reason = `it holds the lone surrogate U+${unit.toString(16).toUpperCase()}, which stands for no byte`
  return new SandboxError('invalid_argument', `The path cannot be used: ${reason}.`, { argument: 'path', reason })
}

function decodeEscaped(bytes: Buffer): string {
  let text = ''
  let from = 0
  let i = 0
  while (i < bytes.length) {
    const length = sequenceLength(bytes, i)
    if (length > 0) {
      i += length
      continue
    }
    text += bytes.toString('utf8', from, i) + String.fromCharCode(ESCAPE_BASE + bytes[i]!)
    from = ++i
  }
  return text + bytes.toString('utf8', from)
}

/** Length of the well-formed UTF-8 sequence at `at` (Unicode, table 3-7), or 0. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at]!
  if (lead < 0x80) return 1
  const length =
    lead >= 0xc2 && lead <= 0xdf ? 2 : lead >= 0xe0 && lead <= 0xef ? 3 : lead >= 0xf0 && lead <= 0xf4 ? 4 : 0
  if (length === 0 || at + length > bytes.length) return 0
  const lowest = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80
  const highest = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf
  if (bytes[at + 1]! < lowest || bytes[at + 1]! > highest) return 0
  for (let i = at + 2; i < at + length; i++) if (bytes[i]! < 0x80 || bytes[i]! > 0xbf) return 0
  return length
}
