import type { JsonValue } from '../errors/error-details.js'
import { SandboxError } from '../errors/sandbox-error.js'

const MAX_KEY_BYTES = 1024
const MAX_VALUE_BYTES = 1024 * 1024
/** Deeper values cannot be relied on to be read again: parsers of other languages stop about here. */
const MAX_DEPTH = 1000

export function invalid(argument: string, reason: string): SandboxError<'invalid_argument'> {
  return new SandboxError('invalid_argument', `${argument}: ${reason}.`, { argument, reason })
}

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw aborted(signal)
}

export function aborted(signal: AbortSignal): SandboxError<'aborted'> {
  const message = 'Aborted by the caller; what had not happened by then was not done.'
  return new SandboxError('aborted', message, {}, { cause: signal.reason })
}

/** Keys of state stores and guards. */
export function checkKey(key: string): void {
  checkWellFormed('key', key)
  if (key === '') throw invalid('key', 'it is empty')
  if (Buffer.byteLength(key) > MAX_KEY_BYTES) throw invalid('key', `it is longer than ${MAX_KEY_BYTES} bytes of UTF-8`)
}

export function checkWellFormed(argument: string, text: string): void {
  if (typeof text !== 'string') throw invalid(argument, 'it is no string')
  if (text.includes('\0')) throw invalid(argument, 'it contains NUL')
  if (/\p{Surrogate}/u.test(text)) throw invalid(argument, 'it contains half of a surrogate pair')
}

export function checkVersion(version: string | null | undefined): void {
  if (version !== undefined && version !== null && typeof version !== 'string') {
    throw invalid('ifVersion', 'it is neither a version nor null')
  }
}

/**
 * The value as JSON text. What JSON cannot hold is refused instead of changed on the way (undefined, NaN, dates, other
 * objects with a class), with one exception: −0 is stored as 0, because JSON writers disagree about it.
 */
export function encodeValue(value: JsonValue): string {
  checkJson(value, 'value', 0)
  const text = JSON.stringify(value)
  if (Buffer.byteLength(text) > MAX_VALUE_BYTES) throw invalid('value', 'it is larger than 1 MiB as JSON')
  return text
}

function checkJson(value: unknown, place: string, depth: number): void {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return
  if (typeof value === 'number' && Number.isFinite(value)) return
  if (typeof value !== 'object') throw invalid(place, `JSON cannot hold a ${describeNonJson(value)}`)
  if (depth >= MAX_DEPTH) throw invalid('value', `it is nested deeper than ${MAX_DEPTH} levels, or in a circle`)
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) checkJson(value[index], place, depth + 1)
    return
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) throw invalid(place, 'it is no plain object')
  if (Object.getOwnPropertySymbols(value).length > 0) throw invalid(place, 'JSON cannot hold a symbol')
  for (const member of Object.values(value)) checkJson(member, place, depth + 1)
}

function describeNonJson(value: unknown): string {
  return typeof value === 'number' ? String(value) : typeof value
}
