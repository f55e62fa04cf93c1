import type { ListStateOptions, StatePage } from '../contracts/state-store.js'
import { checkWellFormed, invalid, throwIfAborted } from './check-argument.js'

export interface PageQuery {
  readonly prefix: string
  readonly limit: number
  /** Only keys after this one. */
  readonly after: string | undefined
  readonly signal: AbortSignal | undefined
}

export function parseListOptions(prefix: string, options: ListStateOptions): PageQuery {
  checkWellFormed('prefix', prefix)
  const { limit = 100, cursor, signal } = options
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
    throw invalid('limit', 'it is no whole number from 1 to 1000')
  return { prefix, limit, after: cursor === undefined ? undefined : parseCursor(cursor), signal }
}

/** One page of those `keys` that are there. The cursor is the last key of the page, so it holds whatever is written. */
export async function pageOfKeys(
  keys: readonly string[],
  { prefix, limit, after, signal }: PageQuery,
  isThere: (key: string) => Promise<boolean>,
): Promise<StatePage> {
  const inRange = (key: string): boolean =>
    key.startsWith(prefix) && (after === undefined || compareUtf8(key, after) > 0)
  const page: string[] = []
  for (const key of keys.filter(inRange).sort(compareUtf8)) {
    throwIfAborted(signal)
    if (!(await isThere(key))) continue
    const last = page.at(-1)
    if (page.length === limit && last !== undefined)
      return { keys: page, cursor: Buffer.from(last).toString('base64url') }
    page.push(key)
  }
  return { keys: page }
}

/** By code points, which is the order of the UTF-8 bytes; `<` goes by UTF-16 units, which differs above U+FFFF. */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index++) {
    const [left, right] = [a.charCodeAt(index), b.charCodeAt(index)]
    if (left !== right) return lift(left) - lift(right)
  }
  return a.length - b.length
}

/** Surrogates stand for what lies above everything else. */
function lift(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}

function parseCursor(cursor: string): string {
  const key = typeof cursor === 'string' ? Buffer.from(cursor, 'base64url') : Buffer.alloc(0)
  if (key.length === 0 || key.toString('base64url') !== cursor)
    throw invalid('cursor', 'it is not from an earlier page')
  return key.toString('utf8')
}
