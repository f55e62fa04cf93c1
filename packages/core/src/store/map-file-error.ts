import { SandboxError } from '../errors/sandbox-error.js'

/** What a store says when the file system fails it; `store` names it for people. Errors that are ours already pass. */
export function mapFileError(error: unknown, store: string, path: string): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (!(error instanceof Error) || typeof code !== 'string' || syscall === undefined) return error
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    const message = `${store}: no space left for ${path}. Free some and try again; nothing was written in part.`
    return new SandboxError('no_space', message, { path }, { cause: error })
  }
  return unavailable(store, `${syscall} on ${path} gave ${code}`, { cause: error })
}

export function unavailable(
  store: string,
  reason: string,
  options: { readonly retryable?: boolean; readonly cause?: unknown } = {},
): SandboxError<'store_unavailable'> {
  return new SandboxError('store_unavailable', `${store} cannot be used: ${reason}.`, { store, reason }, options)
}

/** The `code` of a system error, undefined for anything else. */
export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined
}
