import { SandboxError } from '../errors/sandbox-error.js'

/** Bounds on what one archive may cost. Each is a positive whole number, or `Infinity` to lift it on purpose. */
export interface ArchiveLimits {
  /** Bytes of the archive as it comes in, compressed if it is. Default 1 GiB. */
  readonly maxInputBytes: number
  /** Bytes of all files together. Counted before a file's first byte is given out. Default 4 GiB. */
  readonly maxExtractedBytes: number
  /** Members, global headers included. Default 100 000. */
  readonly maxMembers: number
  /**
   * Unpacked bytes for each byte of a compressed archive. Judged once 16 MiB have come out, so that a small archive of
   * zeros is no bomb. Default 200. (deflate itself ends at about 1 030.)
   */
  readonly maxExpansionRatio: number
  /** Components in a member's path. Default 64. */
  readonly maxDepth: number
  /**
   * Memory for names: the reader remembers every name and link target to recognise duplicates, collisions and ways out.
   * Each counts its length and 64 bytes more. Default 32 MiB.
   */
  readonly maxNameBytes: number
}

const GIB = 1024 ** 3

export const DEFAULT_ARCHIVE_LIMITS: ArchiveLimits = Object.freeze({
  maxInputBytes: GIB,
  maxExtractedBytes: 4 * GIB,
  maxMembers: 100_000,
  maxExpansionRatio: 200,
  maxDepth: 64,
  maxNameBytes: 32 * 1024 ** 2,
})

/** The defaults with what the caller changed. Throws `invalid_argument` for anything that is not a limit. */
export function resolveArchiveLimits(limits: Partial<ArchiveLimits> = {}): ArchiveLimits {
  const resolved: Record<string, number> = { ...DEFAULT_ARCHIVE_LIMITS }
  for (const [name, value] of Object.entries(limits)) {
    if (value === undefined) continue
    if (!Object.hasOwn(DEFAULT_ARCHIVE_LIMITS, name)) {
      throw unusableLimit(name, `no such limit; there are ${Object.keys(DEFAULT_ARCHIVE_LIMITS).join(', ')}`)
    }
    if (value !== Infinity && !(Number.isSafeInteger(value) && value > 0)) {
      throw unusableLimit(name, `it must be a positive whole number, or Infinity to lift it; got ${String(value)}`)
    }
    resolved[name] = value
  }
  return Object.freeze(resolved as unknown as ArchiveLimits)
}

function unusableLimit(name: string, reason: string): SandboxError {
  return new SandboxError('invalid_argument', `The archive limit ${name} cannot be used: ${reason}.`, {
    argument: `limits.${name}`,
    reason,
  })
}
