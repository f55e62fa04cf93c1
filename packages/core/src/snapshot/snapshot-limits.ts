import { resolveArchiveLimits } from '../archive/archive-limits.js'
import type { ArchiveLimits } from '../archive/archive-limits.js'

/**
 * Bounds on one snapshot, at take (`snapshot_failed`) as at restore (`snapshot_corrupt`), so that nothing is saved that
 * could not be brought back. Wider than those of foreign archives: 64 GiB in and out, a million entries, as deep as a path
 * can be. A workspace of zeros shrinks a thousandfold, so that the ratio says nothing here; what comes out is bounded.
 */
export const DEFAULT_SNAPSHOT_LIMITS: ArchiveLimits = Object.freeze({
  maxInputBytes: 64 * 1024 ** 3,
  maxExtractedBytes: 64 * 1024 ** 3,
  maxMembers: 1_000_000,
  maxExpansionRatio: Infinity,
  maxDepth: 2048,
  maxNameBytes: 256 * 1024 ** 2,
})

/** The defaults with what the caller changed. Throws `invalid_argument`. */
export function resolveSnapshotLimits(limits: Partial<ArchiveLimits> = {}): ArchiveLimits {
  return resolveArchiveLimits({ ...DEFAULT_SNAPSHOT_LIMITS, ...limits })
}
