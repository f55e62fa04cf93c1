/** Schemas of the members that several kinds of entries share. Messages follow the place and a colon. */
import { z } from 'zod'
import { SandboxError } from '../errors/sandbox-error.js'
import { parseRelativePath } from '../path/relative-path.js'
import type { RelativePath } from '../path/relative-path.js'

const LONE_SURROGATE = /\p{Surrogate}/u

const CONTROL = /[\u0000-\u001f\u007f]/
const USER_NAME = /^[a-z_][a-z0-9_-]{0,31}$/
const MAX_MODE = 0o777

/** Text with a rule of its own. */
export function text(accepts: (value: string) => boolean, message: string): z.ZodType<string> {
  return z.string().refine(accepts, { error: message })
}

export function isWellFormed(value: string): boolean {
  return !LONE_SURROGATE.test(value)
}

export const mode: z.ZodType<number> = z
  .union([z.number(), z.string()], { error: 'must be a mode' })
  .transform((value, context): number => {
    const bits = typeof value === 'number' ? value : /^0?[0-7]{3}$/.test(value) ? Number.parseInt(value, 8) : -1
    if (Number.isInteger(bits) && bits >= 0 && bits <= MAX_MODE) return bits
    const message = "must be permission bits from 0 to 0o777, as 0o644 or '0644' (not 644, which is decimal)"
    context.issues.push({ code: 'custom', message, input: value })
    return z.NEVER
  })

export const description: z.ZodType<string> = text(
  (value) => value.trim() !== '' && value.length <= 500 && !CONTROL.test(value) && isWellFormed(value),
  'must be one line of 1 to 500 characters',
)

export const secretName: z.ZodType<string> = text(
  (value) => value.trim() !== '' && value.length <= 512 && !CONTROL.test(value) && isWellFormed(value),
  'must be the name of a secret, in one line of 1 to 512 characters',
)

export const accountName: z.ZodType<string> = text(
  (value) => USER_NAME.test(value),
  'must be a name of lower-case letters, digits, _ and -, at most 32 long',
)

export const hostPath: z.ZodType<string> = text(
  (value) => value !== '' && value.length <= 4096 && !value.includes('\0'),
  'must be a host path of 1 to 4096 characters without NUL',
)

/** A path beneath some root, normalised. */
export const relativePath: z.ZodType<RelativePath> = z.string().transform((value, context): RelativePath => {
  const parsed = tryRelativePath(value)
  if ('path' in parsed) return parsed.path
  context.issues.push({ code: 'custom', message: parsed.problem, input: value })
  return z.NEVER
})

/** The parsed path, or what is wrong with it. */
export function tryRelativePath(value: string): { readonly path: RelativePath } | { readonly problem: string } {
  try {
    return { path: parseRelativePath(value) }
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error
    return { problem: error.message }
  }
}

const ifUnsupported = z.enum(['error', 'skip']).default('error')

/** Members of every kind. */
export const options: OptionMembers = { description: description.exactOptional(), ifUnsupported }

/** Members of every kind that fills the workspace with contents of its own. */
export const contentOptions: ContentOptionMembers = {
  ...options,
  ephemeral: z.boolean().default(false),
  owner: accountName.exactOptional(),
  group: accountName.exactOptional(),
  onRestore: z.enum(['keep', 'overwrite']).default('keep'),
}

export interface OptionMembers {
  readonly description: z.ZodExactOptional<z.ZodType<string>>
  readonly ifUnsupported: z.ZodDefault<z.ZodEnum<{ error: 'error'; skip: 'skip' }>>
}

export interface ContentOptionMembers extends OptionMembers {
  readonly ephemeral: z.ZodDefault<z.ZodBoolean>
  readonly owner: z.ZodExactOptional<z.ZodType<string>>
  readonly group: z.ZodExactOptional<z.ZodType<string>>
  readonly onRestore: z.ZodDefault<z.ZodEnum<{ keep: 'keep'; overwrite: 'overwrite' }>>
}
