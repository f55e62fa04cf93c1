import { z } from 'zod'
import type { ZodType } from 'zod'
import type { SnapshotSpec } from '../contracts/snapshot.js'
import { SandboxError } from '../errors/sandbox-error.js'

/** What a caller may say of snapshots of kind `archive`. */
export interface ArchiveSnapshotSpec extends SnapshotSpec {
  readonly kind: 'archive'
  /** Patterns in gitignore syntax, one per item, of what stays out. Default: none. */
  readonly exclude?: readonly string[]
  /** Default `gzip`, at level 1. `none` suits stores that compress, and files that do not shrink. */
  readonly compress?: 'gzip' | 'none'
}

const schema = z.strictObject({
  kind: z.literal('archive'),
  exclude: z.array(z.string()).exactOptional(),
  compress: z.enum(['gzip', 'none']).exactOptional(),
})

export const archiveSpecSchema: ZodType<SnapshotSpec> = schema

/** Throws `invalid_argument` naming what is wrong. */
export function parseArchiveSpec(spec: SnapshotSpec): ArchiveSnapshotSpec {
  const parsed = schema.safeParse(spec)
  if (parsed.success) return parsed.data
  const reason = parsed.error.issues.map(({ path, message }) => `${['spec', ...path].join('.')}: ${message}`).join('; ')
  throw new SandboxError('invalid_argument', `The snapshot spec cannot be used: ${reason}.`, {
    argument: 'spec',
    reason,
  })
}
