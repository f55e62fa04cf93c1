import { SandboxError } from '../errors/sandbox-error.js'
import { expandBraces } from './expand-braces.js'

/**
 * Compiles a glob for relative paths: `*` any characters of a name, `?` one, `[a-z]` and `[!a-z]` one of a set, `**` as a
 * whole name any number of directories (also none), `{a,b}` either, `\` takes the next character as it is. Names that begin
 * with a dot are names like others, and letter case matters. `src/**` is everything beneath `src`, not `src` itself.
 *
 * Patterns come from models, so matching takes time linear in pattern × path whatever the pattern: no regular expression
 * is made of it, because those can be made to run for years (`*a*a*a*…`).
 *
 * @throws `invalid_argument` for an empty, absolute, over-long or `..` pattern, and for one that stands for too many
 */
export function compileGlob(pattern: string): (path: string) => boolean {
  if (typeof pattern !== 'string' || pattern === '') throw unusableGlob(pattern, 'it is empty')
  if (pattern.length > MAX_PATTERN_LENGTH) throw unusableGlob(pattern, `it is longer than ${MAX_PATTERN_LENGTH}`)
  if (pattern.includes('\0')) throw unusableGlob(pattern, 'it holds a NUL byte')
  const alternatives = expandBraces(pattern, MAX_ALTERNATIVES)
  if (alternatives === undefined)
    throw unusableGlob(pattern, `its braces stand for more than ${MAX_ALTERNATIVES} patterns`)
  const compiled = alternatives.map((alternative) => compilePath(alternative, pattern))
  return (path) => {
    const names = path.split('/')
    return compiled.some((items) => matches(items, names.length, (item, at) => (item(names[at]!) ? 1 : 0)))
  }
}

const MAX_PATTERN_LENGTH = 1024
const MAX_ALTERNATIVES = 32
/** Stands for any number of whatever the sequence consists of. */
const ANY = Symbol('any')

type NameTest = (name: string) => boolean
/** A single character of a name, given by its code point. */
type CharacterTest = (codePoint: number) => boolean

function compilePath(text: string, pattern: string): Array<NameTest | typeof ANY> {
  if (text.startsWith('/')) throw unusableGlob(pattern, 'it is absolute; write it relative to where the search begins')
  const parts = text.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..')) throw unusableGlob(pattern, "it has a '..'; begin the search higher up instead")
  if (parts.length === 0) throw unusableGlob(pattern, 'it names no file')
  return compileParts(parts)
}

/** The same for names that are known to be ones, without braces. */
export function compileNames(parts: readonly string[]): (path: string) => boolean {
  const items = compileParts(parts)
  return (path) => {
    const names = path.split('/')
    return matches(items, names.length, (item, at) => (item(names[at]!) ? 1 : 0))
  }
}

function compileParts(parts: readonly string[]): Array<NameTest | typeof ANY> {
  const items = parts.map((part) => (part === '**' ? ANY : compileName(part)))
  // What `**` at the end stands for has at least one name.
  return items.at(-1) === ANY ? [...items.slice(0, -1), () => true, ANY] : items
}

function compileName(part: string): NameTest {
  const items: Array<CharacterTest | typeof ANY> = []
  let literal: string | undefined = ''
  for (let at = 0; at < part.length;) {
    const set = part[at] === '[' ? parseSet(part, at) : undefined
    if (set !== undefined || part[at] === '*' || part[at] === '?') literal = undefined
    if (set !== undefined) {
      items.push(set.test)
      at = set.end
      continue
    }
    if (part[at] === '*') items.push(ANY)
    else if (part[at] === '?') items.push(() => true)
    else {
      if (part[at] === '\\' && at + 1 < part.length) at++
      const codePoint = part.codePointAt(at)!
      items.push((other) => other === codePoint)
      if (literal !== undefined) literal += String.fromCodePoint(codePoint)
      at += widthOf(codePoint)
      continue
    }
    at++
  }
  if (literal !== undefined) return (name) => name === literal
  return (name) =>
    matches(items, name.length, (item, at) => {
      const codePoint = name.codePointAt(at)!
      return item(codePoint) ? widthOf(codePoint) : 0
    })
}

/** `[…]` from `start` on; undefined when it never ends, and the bracket is a character like others. */
function parseSet(part: string, start: number): { readonly test: CharacterTest; readonly end: number } | undefined {
  let at = start + 1
  const negated = part[at] === '!' || part[at] === '^'
  if (negated) at++
  const ranges: Array<readonly [number, number]> = []
  const take = (): number => {
    if (part[at] === '\\' && at + 1 < part.length) at++
    const codePoint = part.codePointAt(at)!
    at += widthOf(codePoint)
    return codePoint
  }
  // A bracket that comes first is a member, not the end.
  for (let first = true; first || part[at] !== ']'; first = false) {
    if (at >= part.length) return undefined
    const low = take()
    const isRange = part[at] === '-' && at + 1 < part.length && part[at + 1] !== ']'
    if (isRange) at++
    ranges.push([low, isRange ? take() : low])
  }
  const test: CharacterTest = (codePoint) =>
    ranges.some(([low, high]) => low <= codePoint && codePoint <= high) !== negated
  return { test, end: at + 1 }
}

/**
 * Whether the items fit the sequence. Only the last `ANY` that was passed ever has to take more: whatever an earlier one
 * could take instead leaves less for the rest.
 */
function matches<T>(
  items: ReadonlyArray<T | typeof ANY>,
  length: number,
  fits: (item: T, at: number) => number,
): boolean {
  let item = 0
  let at = 0
  let retryItem = -1
  let retryAt = 0
  for (;;) {
    const current = items[item]
    if (current === ANY) {
      retryItem = ++item
      retryAt = at
      continue
    }
    const width = current !== undefined && at < length ? fits(current, at) : 0
    if (width > 0) {
      item++
      at += width
    } else if (item === items.length && at === length) {
      return true
    } else {
      if (retryItem === -1 || retryAt >= length) return false
      item = retryItem
      at = ++retryAt
    }
  }
}

function widthOf(codePoint: number): number {
  return codePoint > 0xffff ? 2 : 1
}

function unusableGlob(pattern: string, reason: string): SandboxError {
  const shown = JSON.stringify(String(pattern).slice(0, 120))
  return new SandboxError('invalid_argument', `The glob pattern ${shown} cannot be used: ${reason}.`, {
    argument: 'pattern',
    reason,
  })
}
