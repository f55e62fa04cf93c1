import type { z, ZodType } from 'zod'
import { SandboxError } from '../errors/sandbox-error.js'

/**
 * Parses the options of a plugin. Throws `invalid_config` with one line per problem, each beginning with the plugin's name
 * and the place in the options; values are never repeated, for they may be secrets.
 */
export function parseOptions<T>(schema: ZodType<T>, input: unknown, of: { readonly plugin: string }): T {
  const parsed = schema.safeParse(input)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map((issue) => `${of.plugin}: ${describe(issue)}`)
  throw new SandboxError('invalid_config', problems.join('\n'), { problems })
}

function describe(issue: z.core.$ZodIssue): string {
  const place = issue.path.map(String).join('.')
  if (issue.code === 'unrecognized_keys') {
    return `${place === '' ? 'options' : place}: there is no ${issue.keys.join(', ')}`
  }
  return `${place === '' ? 'options' : place}: ${issue.message}`
}
