import { isSandboxError, SandboxError } from '@cofferdam/core/plugin'

/** The code that the system gave, or undefined for an error of another kind. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || isSandboxError(error)) return undefined
  const { code, syscall } = error as NodeJS.ErrnoException
  return typeof code === 'string' && typeof syscall === 'string' ? code : undefined
}

/** A failure of the folders that sandboxes lie in. */
export function mapFolderError(error: unknown, folder: string): unknown {
  const code = errnoOf(error)
  if (code === undefined) return error
  const options = { backend: 'local', cause: error }
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new SandboxError('no_space', `There is no space left for sandboxes in ${folder}.`, { path: folder }, options)
  }
  const reason = `${code} in ${folder}`
  const message = `Sandboxes cannot be kept in ${folder}: the system says ${code}. Choose another folder with the option root.`
  return new SandboxError('backend_unavailable', message, { backend: 'local', reason }, options)
}

/** A failure to start a program; it did not run at all. */
export function mapSpawnError(error: unknown, program: string): unknown {
  const { code } = error as NodeJS.ErrnoException
  const options = { backend: 'local', operation: 'spawn', cause: error }
  if (code === 'ERR_INVALID_ARG_VALUE') {
    const reason = 'a command, its environment and its directory cannot hold a NUL byte'
    return new SandboxError(
      'invalid_argument',
      `The command cannot be used: ${reason}.`,
      { argument: 'command', reason },
      options,
    )
  }
  const reason = SPAWN_REASONS[code ?? '']?.(program) ?? `the system says ${code ?? String(error)}`
  const retryable = code === 'EAGAIN' || code === 'EMFILE' || code === 'ENFILE' || code === 'ENOMEM'
  return new SandboxError(
    'exec_not_started',
    `The command was not started: ${reason}.`,
    { reason },
    { ...options, retryable },
  )
}

const SPAWN_REASONS: Readonly<Record<string, (program: string) => string>> = {
  ENOENT: (program) => `there is no program ${program} in the PATH of the sandbox, or its interpreter is missing`,
  EACCES: (program) => `${program} may not be executed`,
  EPERM: (program) => `${program} may not be executed`,
  ENOEXEC: (program) => `${program} is no program that this machine can run`,
  ENOTDIR: (program) => `a part of the path ${program} is no directory`,
  ELOOP: (program) => `the links of ${program} lead in a circle`,
  E2BIG: () => 'its arguments and environment are larger than the system allows; pass large data on stdin or in a file',
  EAGAIN: () => 'the system allows no more processes now',
  EMFILE: () => 'too many files are open',
  ENFILE: () => 'too many files are open on this machine',
  ENOMEM: () => 'the system has no memory for another process',
}
