import type { Clock } from '../contracts/clock.js'
import type { FeatureRequirements } from '../contracts/features.js'
import type { ReleaseStep } from '../contracts/observer.js'
import type { Logger } from '../contracts/logger.js'
import type { SnapshotSpec } from '../contracts/snapshot.js'
import type { CofferdamPlugin } from '../plugin/define-plugin.js'
import type { DependencyContainer } from '../di/scope.js'
import type { PathGrant } from '../path/path-grant.js'

/** What a host is composed of. Only `plugins` must be given. */
export interface HostOptions {
  readonly plugins: readonly CofferdamPlugin[]
  /** Backend for acquires that name none. Default: the first one registered. */
  readonly defaultBackend?: string
  /** What the default backend must offer; else `unsupported_feature` here and now. Every acquire may require more. */
  readonly require?: FeatureRequirements
  /** Names the installation: hosts of one deployment share slots and reap each other's leftovers. Default `default`. */
  readonly deployment?: string
  /** Where relative host sources of manifests begin, and the only place they may lie without a grant. Default: the working directory. */
  readonly baseDir?: string
  /** Host places beyond `baseDir` that manifests may read or mount, and everything they may write. Default: none. */
  readonly grants?: readonly PathGrant[]
  /** Folder for records, snapshots and leases, where no plugin brings another store, and for sandboxes of this machine. Default `.cofferdam` in `baseDir`. */
  readonly dataDir?: string
  /** How workspaces are saved. Default `{ kind: 'archive' }`. */
  readonly snapshots?: SnapshotSpec
  /** Resolves secret references of manifests, at the last moment. Default: there are none, and every reference fails. */
  readonly secrets?: (ref: string) => Promise<string> | string
  /** At least 32 bytes: session states are signed with it, and unsigned or changed ones refused. Default: none. */
  readonly stateKey?: Uint8Array
  /** How long a slot stays with a holder that gives no sign of life. Default 60 000. */
  readonly leaseTtlMs?: number
  /**
   * How long each step of a release may take; one that runs over counts as failed, and the next begins. Default: a minute
   * for `hooks` and `record`, 30 000 for `processes`, 30 minutes for `snapshot`, 120 000 for `compute`, else 15 000.
   */
  readonly releaseBoundsMs?: Partial<Record<ReleaseStep, number>>
  /** Parked sandboxes that this host keeps at most. Default 16. */
  readonly maxParked?: number
  /** Whether SIGINT and SIGTERM release all sessions before they end the process. Default true. */
  readonly drainOnSignals?: boolean
  /** Default: warnings and errors on standard error. */
  readonly logger?: Logger
  readonly clock?: Clock
  /** A tsyringe container of the caller: what is registered there under this package's tokens is used. */
  readonly container?: DependencyContainer
}
