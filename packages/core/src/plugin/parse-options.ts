import type { z, ZodType } from 'zod'
import { SandboxError } from '../errors/sandbox-error.js'
import { suggestMember } from '../manifest/suggest-member.js'

/**
 * Parses the options of a plugin. Throws `invalid_config` with one line per problem, each beginning with the plugin's name
 * and the place in the options; unknown ones come with what was probably meant. Values are never repeated, for they may be
 * secrets.
 */
export function parseOptions<T>(schema: ZodType<T>, input: unknown, of: { readonly plugin: string }): T {
  const parsed = schema.safeParse(input)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues
    .flatMap((issue) => describe(issue, schema))
    .map((line) => `${of.plugin}: ${line}`)
  throw new SandboxError('invalid_config', problems.join('\n'), { problems })
}

function describe(issue: z.core.$ZodIssue, schema: ZodType): string[] {
  const place = issue.path.map(String).join('.')
  if (issue.code === 'unrecognized_keys') {
    const known = membersAt(schema, issue.path)
    return issue.keys.map((key) => `${place === '' ? key : `${place}.${key}`}: ${describeUnknown(key, known)}`)
  }
  return [`${place === '' ? 'options' : place}: ${issue.message.replace(/^Invalid (input|option): /, '')}`]
}

function describeUnknown(key: string, known: readonly string[]): string {
  const meant = suggestMember(key, known)
  if (meant !== undefined) return `there is no such option; did you mean ${meant}?`
  return `there is no such option; there are ${known.join(', ')}`
}

/** The names that an object may have at a place in the schema. Empty where that cannot be told. */
function membersAt(schema: unknown, path: readonly PropertyKey[]): readonly string[] {
  const [step, ...rest] = path
  const { shape, innerType, element, valueType } = definitionOf(schema)
  if (innerType !== undefined) return membersAt(innerType, path)
  if (step === undefined) return shape === undefined ? [] : Object.keys(shape)
  return membersAt(shape?.[String(step)] ?? element ?? valueType, rest)
}

/** The parts of a schema's definition that lead further down: those of objects, wrappers, lists and records. */
interface SchemaDefinition {
  readonly shape?: Readonly<Record<string, unknown>>
  readonly innerType?: unknown
  readonly element?: unknown
  readonly valueType?: unknown
}

function definitionOf(schema: unknown): SchemaDefinition {
  return (schema as { _zod?: { def?: SchemaDefinition } } | undefined)?._zod?.def ?? {}
}
