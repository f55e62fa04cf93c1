import type { z } from 'zod'
import { SandboxError } from '../errors/sandbox-error.js'
import { suggestMember } from './suggest-member.js'

/** Problems named at most; the rest is counted. */
const MAX_PROBLEMS = 50

/** Collects what is wrong with a manifest, each with its place, so that a user sees all of it at once. */
export class Problems {
  readonly #lines: string[] = []

  add(place: string, problem: string): void {
    this.#lines.push(`${onOneLine(place)}: ${problem}`)
  }

  /** What `schema` says of `value`; `undefined` after it was refused. `members` are suggested for unknown ones. */
  check<T>(schema: z.ZodType<T>, value: unknown, { place, members }: CheckPlace): T | undefined {
    const result = schema.safeParse(value)
    if (result.success) return result.data
    for (const issue of result.error.issues) this.#addIssue(issue, place, members)
    return undefined
  }

  throwIfAny(): void {
    const lines = this.#lines
    if (lines.length === 0) return
    const more = lines.length - MAX_PROBLEMS
    const problems = more > 0 ? [...lines.slice(0, MAX_PROBLEMS), `manifest: and ${more} more problems`] : lines
    throw new SandboxError('invalid_manifest', `The manifest cannot be used:\n  ${problems.join('\n  ')}`, { problems })
  }

  #addIssue(issue: z.core.$ZodIssue, place: string, members: readonly string[]): void {
    const at = [place, ...issue.path.map(String)].filter((part) => part !== '').join('.')
    if (issue.code !== 'unrecognized_keys') {
      this.add(at || 'manifest', describe(issue))
      return
    }
    const known = issue.path.length === 0 ? members : []
    for (const key of issue.keys) this.add(at === '' ? key : `${at}.${key}`, describeUnknown(key, known))
  }
}

export interface CheckPlace {
  readonly place: string
  readonly members: readonly string[]
}

/** What to say of a member that is not known here. */
export function describeUnknown(key: string, members: readonly string[]): string {
  const suggestion = suggestMember(key, members)
  if (suggestion !== undefined) return `is not known here; did you mean '${suggestion}'?`
  return members.length === 0 ? 'is not known here' : `is not known here; known are ${members.join(', ')}`
}

/** Values are never repeated: a manifest may hold what nobody should read in a log. */
function describe(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return `must be ${TYPES[issue.expected] ?? issue.expected}`
  if (issue.code === 'invalid_value')
    return `must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`
  if (issue.code === 'custom') return issue.message
  if (issue.code === 'too_big') return `may be at most ${issue.maximum}${UNITS[issue.origin] ?? ''}`
  if (issue.code === 'too_small') return `must be at least ${issue.minimum}${UNITS[issue.origin] ?? ''}`
  return issue.message
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  boolean: 'true or false',
  number: 'a number',
  int: 'a whole number',
}
const UNITS: Readonly<Record<string, string>> = { string: ' characters long', array: ' items long' }

/** A key may hold anything, also what would make one problem look like two. */
function onOneLine(place: string): string {
  const visible = place.replace(/[\u0000-\u001f\u007f]/g, (character) => JSON.stringify(character).slice(1, -1))
  return visible.length > 300 ? `${visible.slice(0, 297)}...` : visible
}
