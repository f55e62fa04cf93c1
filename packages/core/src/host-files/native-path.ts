import { decodePath, encodePath } from '../path/path-bytes.js'

/** What node:fs takes: text where it says the same as the bytes, else the bytes. */
export type NativePath = string | Buffer

const SURROGATE = /[\ud800-\udfff]/

/** The bytes that a path of the contracts means. Throws `invalid_argument` for a lone surrogate that is no escape. */
export function toNativePath(text: string): NativePath {
  // Text without surrogates is turned into the same bytes by Node itself, and faster.
  return SURROGATE.test(text) ? Buffer.from(encodePath(text)) : text
}

/** True when Node's own decoding may have lost bytes, so that the name must be read again as bytes. */
export function isLossy(text: string): boolean {
  return text.includes('\ufffd')
}

/** The text of a path as the contracts write it. */
export function fromNativePath(bytes: Uint8Array): string {
  return decodePath(bytes)
}
