import { SandboxError } from './sandbox-error.js'

/** Throws `aborted` when the signal has fired; its reason is the cause. */
export function assertNotAborted(signal: AbortSignal | undefined, operation?: string): void {
  if (signal?.aborted !== true) return
  throw new SandboxError(
    'aborted',
    `${operation ?? 'the operation'} was aborted by its signal`,
    {},
    {
      cause: signal.reason,
      ...(operation === undefined ? {} : { operation }),
    },
  )
}
