import { SandboxError } from '../errors/sandbox-error.js'
import { quotePath } from '../path/path-components.js'
import type { ArchiveLimits } from './archive-limits.js'

/** `member` is empty when the archive as a whole is at fault. */
export function archiveRejected(member: string, reason: string, cause?: unknown): SandboxError<'archive_rejected'> {
  const subject = member === '' ? 'The archive is' : `The archive's member ${quotePath(member)} is`
  const options = cause === undefined ? {} : { cause }
  return new SandboxError('archive_rejected', `${subject} not acceptable: ${reason}.`, { member, reason }, options)
}

/** The `archive_limit` naming the limit as it is set in {@link ArchiveLimits}. */
export function archiveLimit(limit: keyof ArchiveLimits, limits: ArchiveLimits): SandboxError<'archive_limit'> {
  const allowed = limits[limit]
  const message = `The archive goes over ${limit}, which is ${allowed}. Raise that limit if the archive is to be trusted.`
  return new SandboxError('archive_limit', message, { limit, allowed })
}
