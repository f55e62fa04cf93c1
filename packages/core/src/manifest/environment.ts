import { z } from 'zod'
import type { EnvironmentVariable } from './manifest.js'
import { description, isWellFormed, secretName, text } from './member-schemas.js'
import { isRecord, withoutUndefined } from './place-entries.js'
import { describeUnknown } from './problems.js'
import type { Problems } from './problems.js'

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
/** Longest `NAME=value` that Linux takes (MAX_ARG_STRLEN), in bytes. */
const MAX_VARIABLE_BYTES = 128 * 1024 - 1

/**
 * Variables that make every program, or every shell, load code of somebody's choice before its own. They would be in force
 * also for programs that run on behalf of the host, such as a `git` that has just been given a password. Set them on the
 * single command that needs them.
 */
export const REFUSED_VARIABLES: readonly string[] = Object.freeze([
  'LD_PRELOAD',
  'LD_AUDIT',
  'DYLD_INSERT_LIBRARIES',
  'BASH_ENV',
  'ENV',
  'GIT_ASKPASS',
  'GIT_EXEC_PATH',
  'GIT_CONFIG_PARAMETERS',
  'GIT_CONFIG_COUNT',
])
/** Variables of our own. */
const RESERVED_PREFIX = 'COFFERDAM_'

const value = text(
  (content) => !content.includes('\0') && isWellFormed(content),
  'must be text without NUL and without halves of surrogate pairs',
)
const plain = z.strictObject({ value, description: description.exactOptional() })
const secret = z.strictObject({ secret: secretName, description: description.exactOptional() })

/** Reads the variables, sorted by name. Problems name the variable and never its value. */
export function parseEnvironment(input: unknown, problems: Problems): ReadonlyMap<string, EnvironmentVariable> {
  const variables = new Map<string, EnvironmentVariable>()
  if (!isRecord(input)) {
    problems.add('environment', 'must be an object of names and values')
    return variables
  }
  for (const name of Object.keys(input).sort()) {
    const raw = input[name]
    if (raw === undefined) continue
    const refused = nameProblem(name)
    if (refused !== undefined) problems.add(`environment.${name}`, refused)
    const variable = parseVariable(name, raw, problems)
    if (variable !== undefined) variables.set(name, variable)
  }
  return variables
}

function parseVariable(name: string, raw: unknown, problems: Problems): EnvironmentVariable | undefined {
  const place = `environment.${name}`
  const members = typeof raw === 'string' ? { value: raw } : isRecord(raw) ? withoutUndefined(raw) : undefined
  if (members === undefined) {
    const stringify = typeof raw === 'number' || typeof raw === 'boolean'
    problems.add(place, stringify ? 'must be text: put it in quotes' : "must be text or { secret: '…' }")
    return undefined
  }
  if ('ephemeral' in members) {
    problems.add(`${place}.ephemeral`, 'is not known here: no value of the environment is ever stored, leave it out')
    return undefined
  }
  const known = 'secret' in members ? ['secret', 'description'] : ['value', 'description']
  if ('secret' in members && 'value' in members) {
    problems.add(place, "needs either 'value' or 'secret', not both")
    return undefined
  }
  if (!('secret' in members) && !('value' in members)) {
    for (const key of Object.keys(members)) problems.add(`${place}.${key}`, describeUnknown(key, ['value', 'secret']))
    problems.add(place, "needs a 'value' or a 'secret'")
    return undefined
  }
  const schema: z.ZodType<EnvironmentVariable> = 'secret' in members ? secret : plain
  const variable = problems.check(schema, members, { place, members: known })
  if (variable !== undefined && 'value' in variable) {
    const sizeBytes = name.length + 1 + Buffer.byteLength(variable.value)
    if (sizeBytes > MAX_VARIABLE_BYTES)
      problems.add(place, `is ${sizeBytes} bytes long; ${MAX_VARIABLE_BYTES} is the most`)
  }
  return variable
}

function nameProblem(name: string): string | undefined {
  if (!NAME.test(name)) return 'must be a name of letters, digits and _, not beginning with a digit'
  if (name.startsWith(RESERVED_PREFIX)) return `begins with ${RESERVED_PREFIX}, which is kept for the sandbox itself`
  if (!REFUSED_VARIABLES.includes(name)) return undefined
  return 'would load code into every program; set it on the one command that needs it'
}
