import { isSandboxError, SandboxError } from '../errors/sandbox-error.js'
import type { EnvironmentVariable, Manifest } from '../manifest/manifest.js'
import type { Redactor } from '../redact/redactor.js'

/** As the manifest's own bound on a variable. */
const MAX_VALUE_BYTES = 128 * 1024 - 256

/**
 * The environment of every command, with secrets resolved by the application at this moment and made known to the
 * redactor. All of them are tried, and each is asked for once.
 *
 * @throws `invalid_config` with one line per variable that has no usable value. It names variables and secrets, never a
 * value. Retryable when the application's resolver said so by a retryable `SandboxError`.
 */
export async function resolveEnvironment(
  manifest: Manifest,
  secrets: (ref: string) => Promise<string>,
  redactor: Pick<Redactor, 'add'>,
): Promise<Readonly<Record<string, string>>> {
  const asked = new Map<string, Promise<string>>()
  const resolve = (variable: EnvironmentVariable): Promise<string> => {
    if ('value' in variable) return Promise.resolve(variable.value)
    const pending = asked.get(variable.secret) ?? resolveSecret(variable.secret, secrets, redactor)
    asked.set(variable.secret, pending)
    return pending
  }
  const variables = Object.entries(manifest.environment)
  const results = await Promise.allSettled(variables.map(([, variable]) => resolve(variable)))
  const failures: { readonly problem: string; readonly error: unknown }[] = []
  const environment = variables.map(([name], index): [string, string] => {
    const result = results[index]!
    if (result.status === 'fulfilled') return [name, result.value]
    const reason = isSandboxError(result.reason)
      ? result.reason.message
      : 'the application could not resolve its secret'
    failures.push({ problem: `environment.${name}: ${reason}`, error: result.reason })
    return [name, '']
  })
  if (failures.length > 0) throw unresolved(failures)
  return Object.freeze(Object.fromEntries(environment))
}

/**
 * One secret, checked and made known to the redactor. What the resolver itself threw becomes the cause, and is not quoted.
 *
 * @throws `invalid_config`
 */
export async function resolveSecret(
  ref: string,
  secrets: (ref: string) => Promise<string>,
  redactor: Pick<Redactor, 'add'>,
): Promise<string> {
  let value: unknown
  try {
    value = await secrets(ref)
  } catch (error) {
    throw unusable(ref, 'could not be resolved', error)
  }
  if (typeof value !== 'string') throw unusable(ref, 'was resolved to something that is not text')
  redactor.add(value)
  if (value.includes('\0')) throw unusable(ref, 'holds a NUL byte')
  if (Buffer.byteLength(value) > MAX_VALUE_BYTES) throw unusable(ref, `is longer than ${MAX_VALUE_BYTES} bytes`)
  return value
}

function unusable(ref: string, problem: string, cause?: unknown): SandboxError<'invalid_config'> {
  const message = `secret '${ref}' ${problem}`
  const retryable = isSandboxError(cause) && cause.retryable
  return new SandboxError('invalid_config', message, { problems: [message] }, { retryable, cause })
}

function unresolved(failures: readonly { readonly problem: string; readonly error: unknown }[]): SandboxError {
  const problems = failures.map(({ problem }) => problem)
  const retryable = failures.every(({ error }) => isSandboxError(error) && error.retryable)
  const causes = failures.map(({ error }) => error)
  return new SandboxError(
    'invalid_config',
    `The environment cannot be made:\n  ${problems.join('\n  ')}`,
    { problems },
    { retryable, cause: causes.length === 1 ? causes[0] : new AggregateError(causes) },
  )
}
