import { SandboxError } from '../../errors/sandbox-error.js'
import type { ReadRange } from '../../contracts/files.js'
import { invalid } from '../check-argument.js'

const MAX_KEY_BYTES = 512
const COMPONENT = /^[A-Za-z0-9._=-]+$/

export function checkBlobKey(key: string): void {
  if (typeof key !== 'string' || key === '') throw invalid('key', 'it is empty or no string')
  if (key.length > MAX_KEY_BYTES) throw invalid('key', `it is longer than ${MAX_KEY_BYTES} bytes`)
  for (const component of key.split('/')) {
    if (COMPONENT.test(component) && component !== '.' && component !== '..') continue
    throw invalid(
      'key',
      'its components between slashes may hold A-Z a-z 0-9 . _ = - and be neither empty nor . nor ..',
    )
  }
}

/** Any beginning of a key, also in the middle of a component. */
export function checkBlobPrefix(prefix: string): void {
  const fits = typeof prefix === 'string' && prefix.length <= MAX_KEY_BYTES && /^[A-Za-z0-9._=/-]*$/.test(prefix)
  if (!fits) throw invalid('prefix', 'no key begins like that')
}

/** Offset and end (exclusive) within a blob of that size. */
export function checkRange({ offset = 0, length }: ReadRange, sizeBytes: number): { offset: number; end: number } {
  if (!Number.isSafeInteger(offset) || offset < 0) throw invalid('range', 'offset is no whole number from 0')
  if (length !== undefined && (!Number.isSafeInteger(length) || length < 0)) {
    throw invalid('range', 'length is no whole number from 0')
  }
  const start = Math.min(offset, sizeBytes)
  return { offset: start, end: Math.min(start + (length ?? sizeBytes), sizeBytes) }
}

export function checkSize(sizeBytes: number | undefined): void {
  if (sizeBytes === undefined || (Number.isSafeInteger(sizeBytes) && sizeBytes >= 0)) return
  throw invalid('sizeBytes', 'it is no whole number from 0')
}

export function blobNotFound(key: string): SandboxError<'blob_not_found'> {
  return new SandboxError('blob_not_found', `There is no blob ${key}.`, { key })
}
