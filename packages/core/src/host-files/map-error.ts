import { SandboxError, isSandboxError } from '../errors/sandbox-error.js'
import { quotePath } from '../path/path-components.js'

/** The code that the system gave, or undefined for an error of another kind. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || isSandboxError(error)) return undefined
  const { code, syscall } = error as NodeJS.ErrnoException
  return typeof code === 'string' && typeof syscall === 'string' ? code : undefined
}

/**
 * The one place where errno becomes a {@link SandboxError}. `path` is the sandbox path that was asked for; the system's own
 * message is not repeated, because it names descriptors and temporary files that mean nothing to a caller.
 */
export function mapFileError(error: unknown, path: string): unknown {
  const code = errnoOf(error)
  if (code === undefined) return error
  const quoted = quotePath(path)
  const options = { cause: error }
  const denied = (reason: string): SandboxError =>
    new SandboxError('path_denied', `${quoted} cannot be used: ${reason}.`, { path, reason }, options)
  const invalid = (reason: string): SandboxError =>
    new SandboxError('invalid_argument', `${quoted} cannot be used: ${reason}.`, { argument: 'path', reason }, options)
  switch (code) {
    case 'ENOENT':
      return notFound(path, error)
    case 'EEXIST':
    case 'ENOTEMPTY':
      return alreadyExists(path, error)
    case 'ENOTDIR':
      return notADirectory(path, error)
    case 'EISDIR':
      return isADirectory(path, error)
    case 'ENOSPC':
    case 'EDQUOT':
      return new SandboxError('no_space', `There is no space left to write ${quoted}.`, { path }, options)
    case 'EFBIG':
      return new SandboxError(
        'quota_exceeded',
        `${quoted} would become larger than a file may be.`,
        { quota: 'file size', limit: null },
        options,
      )
    case 'EMFILE':
    case 'ENFILE': {
      const message = 'Too many files are open; close some, or raise the limit on open files (ulimit -n).'
      return new SandboxError(
        'quota_exceeded',
        message,
        { quota: 'open files', limit: null },
        { ...options, retryable: true },
      )
    }
    case 'EROFS':
      return readOnly(path, error)
    case 'EACCES':
    case 'EPERM':
      return denied("the system's permissions forbid it")
    case 'ELOOP':
      return denied('its links lead in a circle')
    case 'EXDEV':
      return denied('it would have to cross from one file system or mount to another')
    case 'EBUSY':
      return denied('a mount point or a file in use is in the way')
    case 'ETXTBSY':
      return denied('it is a program that is running')
    case 'ENXIO':
    case 'EAGAIN':
      return denied('it is neither a file nor a directory')
    case 'ENAMETOOLONG':
      return invalid('it is longer than the file system allows')
    case 'EINVAL':
    case 'EILSEQ':
      return invalid('the file system refuses it')
    default:
      return new SandboxError('internal', `The system failed with ${code} at ${quoted}.`, { reason: code }, options)
  }
}

export function notFound(path: string, cause?: unknown): SandboxError<'not_found'> {
  return new SandboxError('not_found', `There is nothing at ${quotePath(path)}.`, { path }, { cause })
}

export function alreadyExists(path: string, cause?: unknown): SandboxError<'already_exists'> {
  return new SandboxError('already_exists', `There is something at ${quotePath(path)} already.`, { path }, { cause })
}

export function notADirectory(path: string, cause?: unknown): SandboxError<'not_a_directory'> {
  return new SandboxError(
    'not_a_directory',
    `${quotePath(path)} is not in or not itself a directory.`,
    { path },
    { cause },
  )
}

export function isADirectory(path: string, cause?: unknown): SandboxError<'is_a_directory'> {
  return new SandboxError(
    'is_a_directory',
    `${quotePath(path)} is a directory, and a file is needed.`,
    { path },
    { cause },
  )
}

export function readOnly(path: string, cause?: unknown): SandboxError<'read_only'> {
  return new SandboxError('read_only', `${quotePath(path)} is mounted or declared read-only.`, { path }, { cause })
}

export function pathDenied(path: string, reason: string): SandboxError<'path_denied'> {
  return new SandboxError('path_denied', `${quotePath(path)} cannot be used: ${reason}.`, { path, reason })
}

export function pathEscape(path: string): SandboxError<'path_escape'> {
  const message = `${quotePath(path)} leads out of every allowed directory, as written or through a link; use a path inside.`
  return new SandboxError('path_escape', message, { path })
}
