import { PhraseScanner } from './phrase-scanner.js'
import type { PhraseRange } from './phrase-scanner.js'
import { secretForms } from './secret-forms.js'

/** What stands where a secret stood. */
export const REDACTED: string = '[redacted]'

/**
 * Shorter secrets are not masked: a text in which every `1` or `no` is blotted out says nothing any more, and shows by its
 * blots what the secret was.
 */
export const MIN_SECRET_LENGTH: number = 4

/** Shorter lines of a secret of several lines are masked only with the whole. */
const MIN_LINE_LENGTH: number = 8

/**
 * Masks known secrets, in plain and in the forms that they take on their way through programs: base64 (also url-safe, and
 * at each of the three alignments within something longer), hex, percent-encoded, escaped in a JSON string. Of a secret
 * with several lines also each line of {@link MIN_LINE_LENGTH} characters or more is known, without the space around it,
 * because programs show lines; not those that anyone could write, such as `-----BEGIN PRIVATE KEY-----`.
 *
 * A redactor only grows. It is shared by everything in a host that lets text out.
 */
export interface Redactor {
  /**
   * Makes a secret known. Adding it twice is no error. Returns false, and masks nothing, for a secret of fewer than
   * {@link MIN_SECRET_LENGTH} characters: the caller says so where that matters.
   */
  add(secret: string): boolean
  /** The text with every known form of every known secret replaced by {@link REDACTED}. */
  redact(text: string): string
  /** The same for bytes that may be anything; what is not a secret is kept to the byte. */
  redactBytes(bytes: Uint8Array): Uint8Array
  /** The same for what JSON can hold and deeper: keys and texts, in objects and lists. Returns a copy. */
  redactJson<T>(value: T): T
  /**
   * The same for a stream, also where a secret begins in one chunk and ends in another. It holds back no more than the
   * beginning of something that may become a secret. A secret that is added later is masked from then on.
   */
  redactStream(): TransformStream<Uint8Array, Uint8Array>
}

export function createRedactor(): Redactor {
  return new FormRedactor()
}

const MASK = new TextEncoder().encode(REDACTED)

class FormRedactor implements Redactor {
  readonly #forms: Set<string> = new Set()
  #texts: PhraseScanner | undefined
  #bytes: PhraseScanner | undefined

  add(secret: string): boolean {
    if (secret.length < MIN_SECRET_LENGTH) return false
    for (const text of [secret, ...linesOf(secret)]) for (const form of secretForms(text)) this.#forms.add(form)
    this.#texts = this.#bytes = undefined
    return true
  }

  redact(text: string): string {
    if (this.#forms.size === 0) return text
    this.#texts ??= new PhraseScanner([...this.#forms].map(codeUnits))
    const { ranges } = this.#texts.scan(codeUnits(text))
    return ranges.length === 0 ? text : maskText(text, ranges)
  }

  redactBytes(bytes: Uint8Array): Uint8Array {
    if (this.#forms.size === 0) return bytes
    const { ranges } = this.#byteScanner().scan(bytes)
    if (ranges.length === 0) return bytes
    return concatenate(maskBytes(bytes, { ranges, until: bytes.length, masked: false }))
  }

  redactJson<T>(value: T): T {
    return this.#redactValue(value) as T
  }

  redactStream(): TransformStream<Uint8Array, Uint8Array> {
    let held = new Uint8Array(0)
    /** Bytes at the beginning of `held` that are part of a secret which was masked already. */
    let maskedBytes = 0
    const push = (chunk: Uint8Array, last: boolean, emit: (part: Uint8Array) => void): void => {
      const bytes = held.length === 0 ? chunk : concatenate([held, chunk])
      const { ranges, openFrom } = this.#byteScanner().scan(bytes)
      const all = withPrefix(ranges, maskedBytes)
      const until = last ? bytes.length : openFrom
      for (const part of maskBytes(bytes, { ranges: all, until, masked: maskedBytes > 0 })) emit(part)
      const open = all.find(({ start, end }) => end > until && (start < until || (start === 0 && maskedBytes > 0)))
      maskedBytes = open === undefined ? 0 : open.end - until
      held = bytes.slice(until)
    }
    return new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => push(chunk, false, (part) => controller.enqueue(part)),
      flush: (controller) => push(new Uint8Array(0), true, (part) => controller.enqueue(part)),
    })
  }

  #byteScanner(): PhraseScanner {
    return (this.#bytes ??= new PhraseScanner([...this.#forms].map((form) => new TextEncoder().encode(form))))
  }

  #redactValue(value: unknown): unknown {
    if (typeof value === 'string') return this.redact(value)
    if (value instanceof Uint8Array) return this.redactBytes(value)
    if (Array.isArray(value)) return value.map((member) => this.#redactValue(member))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [this.redact(key), this.#redactValue(member)]),
    )
  }
}

interface Masking {
  readonly ranges: readonly PhraseRange[]
  /** Units from here on are not given out yet. */
  readonly until: number
  /** A range that begins at 0 was announced before. */
  readonly masked: boolean
}

function maskBytes(bytes: Uint8Array, { ranges, until, masked }: Masking): Uint8Array[] {
  const parts: Uint8Array[] = []
  let at = 0
  for (const { start, end } of ranges) {
    if (start >= until) break
    if (start > at) parts.push(bytes.subarray(at, start))
    if (!(masked && start === 0)) parts.push(MASK)
    at = Math.min(end, until)
  }
  if (at < until) parts.push(bytes.subarray(at, until))
  return parts
}

function maskText(text: string, ranges: readonly PhraseRange[]): string {
  let masked = ''
  let at = 0
  for (const { start, end } of ranges) {
    masked += text.slice(at, start) + REDACTED
    at = end
  }
  return masked + text.slice(at)
}

/** The ranges, with `[0, length)` one of them. */
function withPrefix(ranges: readonly PhraseRange[], length: number): readonly PhraseRange[] {
  if (length === 0) return ranges
  const overlapping = ranges.filter(({ start }) => start < length)
  const end = Math.max(length, ...overlapping.map((range) => range.end))
  return [{ start: 0, end }, ...ranges.slice(overlapping.length)]
}

/** The lines of a secret that are secrets of their own; none of a secret that has but one. */
function linesOf(secret: string): readonly string[] {
  const lines = secret.trim().split(/\r\n|\r|\n/)
  if (lines.length === 1) return []
  return lines.map((line) => line.trim()).filter((line) => line.length >= MIN_LINE_LENGTH && !isTrivial(line))
}

/** The frame of a PEM block, its headers, and rules: the same in every secret of the kind. */
function isTrivial(line: string): boolean {
  return (
    /^-+ ?(BEGIN|END) [^-]*-+$/.test(line) ||
    /^(Proc-Type|DEK-Info|Version|Comment): /.test(line) ||
    /^(.)\1*$/u.test(line)
  )
}

function codeUnits(text: string): Uint16Array {
  const units = new Uint16Array(text.length)
  for (let i = 0; i < text.length; i++) units[i] = text.charCodeAt(i)
  return units
}

function concatenate(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
