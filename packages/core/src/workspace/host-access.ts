import type { PathGrant } from '../path/path-grant.js'

/**
 * Which places of the host manifests may read or mount. It comes from the application alone. What lies beneath `baseDir`
 * may be read; anything else, and every writable mount, needs a grant.
 */
export interface HostAccess {
  /** Absolute. Relative sources of a manifest begin here. */
  readonly baseDir: string
  readonly grants: readonly PathGrant[]
}
