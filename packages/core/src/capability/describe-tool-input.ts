import { z } from 'zod'
import type { ZodType } from 'zod'
import { describeUnknown } from '../manifest/problems.js'

/** Problems named at most; the rest is counted. */
const MAX_PROBLEMS = 20

export interface ToolInputPlace {
  readonly input: unknown
  readonly parameters: ZodType
}

/** One line per problem, each beginning with the parameter it is about. Values are never repeated. */
export function describeToolInput(issues: readonly z.core.$ZodIssue[], place: ToolInputPlace): string[] {
  const lines = issues.flatMap((issue) => describeIssue(issue, place))
  const more = lines.length - MAX_PROBLEMS
  return more > 0 ? [...lines.slice(0, MAX_PROBLEMS), `and ${more} more problems`] : lines
}

function describeIssue(issue: z.core.$ZodIssue, { input, parameters }: ToolInputPlace): string[] {
  if (issue.code === 'unrecognized_keys') {
    const known = issue.path.length === 0 && parameters instanceof z.ZodObject ? Object.keys(parameters.shape) : []
    return issue.keys.map((key) => `${placeOf([...issue.path, key])}: ${describeUnknown(key, known)}`)
  }
  const missing = issue.code === 'invalid_type' && valueAt(input, issue.path) === undefined && issue.path.length > 0
  return [`${placeOf(issue.path)}: ${missing ? `is missing; expected ${issue.expected}` : onOneLine(issue.message)}`]
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => (value as Record<PropertyKey, unknown> | null | undefined)?.[key], input)
}

function placeOf(path: readonly PropertyKey[]): string {
  return path.length === 0 ? 'input' : onOneLine(path.map(String).join('.'))
}

/** A key may hold anything, also what would make one problem look like two. */
function onOneLine(text: string): string {
  const visible = text.replace(/[\u0000-\u001f\u007f]+/g, ' ')
  return visible.length > 300 ? `${visible.slice(0, 297)}...` : visible
}
