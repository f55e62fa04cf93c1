import { SandboxError } from '@cofferdam/core/plugin'
import type { SandboxErrorCode, SandboxErrorDetails } from '@cofferdam/core/plugin'
import type { Errno } from './tree/posix-error.js'

type PathCode = Extract<
  SandboxErrorCode,
  'not_found' | 'already_exists' | 'not_a_directory' | 'is_a_directory' | 'path_escape'
>

const CODES: Readonly<Partial<Record<Errno, PathCode>>> = {
  ENOENT: 'not_found',
  EEXIST: 'already_exists',
  ENOTEMPTY: 'already_exists',
  ENOTDIR: 'not_a_directory',
  EISDIR: 'is_a_directory',
}

const MESSAGES: Readonly<Record<PathCode, string>> = {
  not_found: 'nothing is there',
  already_exists: 'something is there already',
  not_a_directory: 'a directory is needed there',
  is_a_directory: 'it is a directory',
  path_escape: 'it leads out of the workspace and of every mount; use a path inside',
}

export function pathError(code: PathCode, path: string, operation: string): SandboxError {
  return new SandboxError(
    code,
    `${operation} ${JSON.stringify(path)}: ${MESSAGES[code]}`,
    { path },
    { backend: 'memory', operation },
  )
}

export function deniedError(path: string, operation: string, reason: string): SandboxError<'path_denied'> {
  return new SandboxError(
    'path_denied',
    `${operation} ${JSON.stringify(path)}: ${reason}`,
    { path, reason },
    {
      backend: 'memory',
      operation,
    },
  )
}

export function argumentError<A extends string>(argument: A, reason: string): SandboxError<'invalid_argument'> {
  const details: SandboxErrorDetails['invalid_argument'] = { argument, reason }
  return new SandboxError('invalid_argument', `${argument}: ${reason}`, details, { backend: 'memory' })
}

/** What a failed system call inside the allowed roots means to a caller. */
export function errnoError(errno: Errno, path: string, operation: string): SandboxError {
  const code = CODES[errno]
  if (code !== undefined) return pathError(code, path, operation)
  if (errno === 'EINVAL') return argumentError('path', `${operation} ${JSON.stringify(path)} cannot be done`)
  return deniedError(path, operation, errno === 'ELOOP' ? 'its links lead nowhere' : 'the system does not permit it')
}
