import { z } from 'zod'
import type { GitRepoEntry } from '../entry.js'
import { contentOptions, hostPath, mode, relativePath, secretName, text } from '../member-schemas.js'
import type { KindSchema } from './kind-schema.js'

/** `user@host:path`, as ssh's own commands have it. */
const SCP_URL = /^[A-Za-z0-9_][A-Za-z0-9_.-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[^\s\0]+$/
const SCHEMES: readonly string[] = ['https:', 'http:', 'ssh:', 'git:']
/** What git itself refuses in names of refs (git-check-ref-format), and a leading dash, which it would take for an option. */

const BAD_REF = /^[-/]|[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\/\/|[/.]$|\.lock$|^@$/

const url = z.string().transform((value, context): string => {
  const problem = urlProblem(value)
  if (problem === undefined) return value
  context.issues.push({ code: 'custom', message: problem, input: '' })
  return z.NEVER
})

const shape = {
  kind: z.literal('git_repo'),
  url: url.exactOptional(),
  path: hostPath.exactOptional(),
  ref: text(
    (value) => value !== '' && value.length <= 255 && !BAD_REF.test(value),
    'must be the name of a branch or tag, or a commit',
  ).exactOptional(),
  depth: z
    .int()
    .min(0)
    .max(2 ** 31 - 1)
    .default(1),
  subpath: relativePath.exactOptional(),
  credentials: z.strictObject({ secret: secretName, user: gitUser().default('x-access-token') }).exactOptional(),
  mode: mode.default(0o755),
  ...contentOptions,
}

export const gitRepoKind: KindSchema<GitRepoEntry> = {
  schema: z
    .strictObject(shape)
    .refine((entry) => (entry.url === undefined) !== (entry.path === undefined), {
      error: "needs exactly one of 'url' and 'path'",
    })
    .refine((entry) => entry.credentials === undefined || keepsCredentials(entry.url), {
      path: ['credentials'],
      error: 'can be used with an https url only, or http to this very machine',
    }),
  members: Object.keys(shape),
}

/** Never repeats the address: it may hold what should not be in it. */
function urlProblem(value: string): string | undefined {
  if (value.length > 2048) return 'is longer than 2048 characters'
  if (SCP_URL.test(value)) return undefined
  const parsed = tryUrl(value)
  if (parsed === null || !SCHEMES.includes(parsed.protocol) || parsed.hostname === '' || /[\s\0]/.test(value)) {
    return "must be https, http, ssh or git, or 'user@host:path'; a repository of the host is given as 'path'"
  }
  if (parsed.search !== '' || parsed.hash !== '') return 'may have no query and no fragment'
  const carries = parsed.password !== '' || (parsed.username !== '' && parsed.protocol !== 'ssh:')
  return carries ? "carries credentials; name them as credentials: { secret: '…' } instead" : undefined
}

/** Over plain http a password would be read on the way. */
function keepsCredentials(value: string | undefined): boolean {
  const parsed = value === undefined ? null : tryUrl(value)
  if (parsed?.protocol === 'https:') return true
  return parsed?.protocol === 'http:' && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(parsed.hostname)
}

function tryUrl(value: string): URL | null {
  try {
    return new URL(value)
  } catch {
    return null
  }
}

function gitUser(): z.ZodType<string> {
  return text((value) => /^[A-Za-z0-9._@+-]{1,128}$/.test(value), 'must be a user name')
}
