/** How far commands are kept from the machine that runs them. */
export type Isolation = 'none' | 'process' | 'container' | 'vm'

/**
 * What a backend can do. Every member is explicit and true: for what is declared false the call throws
 * `unsupported_feature`, and the conformance suite checks both directions. On a client it is the ceiling; on a sandbox it
 * is the truth for that one.
 */
export interface BackendFeatures {
  /** What stands between commands and the host. `none`: nothing but the user account. */
  readonly isolation: Isolation
  /** Network plans that are enforced. `open` alone means that nothing is. */
  readonly network: readonly NetworkKind[]
  /** Terminals: `SpawnRequest.tty` and `resize`. */
  readonly tty: boolean
  /** Whether kill ends every descendant for certain (`proven`) or all that can be found (`best-effort`). */
  readonly killTree: 'proven' | 'best-effort'
  /**
   * Whether `start` with a higher fence by itself ends what a lower holder runs, `keepOnPark` or not unless that holder let
   * go before, and refuses its later requests, `stop` and `shutdown` among them.
   */
  readonly fencing: boolean
  /** `pause` and `unpause`. */
  readonly pause: boolean
  /** `freeze` and `thaw` really hold background processes still. */
  readonly freeze: boolean
  /** `endpoint`. */
  readonly ports: boolean
  readonly limits: LimitFeatures
  /** `SpawnRequest.user`, manifest users and groups, and owners of entries. */
  readonly users: boolean
  /** Mounts of host directories. */
  readonly bindMounts: boolean
  /** Mounts whose contents commands can use and tools cannot read. */
  readonly vaults: boolean
  /** `resume` finds a running or stopped sandbox again from its state. */
  readonly reattach: boolean
  /** The workspace survives `stop`. */
  readonly persistentWorkspace: boolean
  /** `snapshotNative`. */
  readonly nativeSnapshot: boolean
  /** A new sandbox can start from a native snapshot of a living one without copying. */
  readonly fork: boolean
  /** Two names that differ only in case are the same file. */
  readonly foldsCase: boolean
  /** File names may hold bytes that are not UTF-8. */
  readonly byteNames: boolean
}

/** Which limits of `Limits` are enforced. */
export interface LimitFeatures {
  readonly memory: boolean
  readonly cpu: boolean
  readonly pids: boolean
  readonly disk: boolean
}

/** `none`: no network at all. `open`: what the host has. `policy`: an allow-list. */
export type NetworkKind = 'none' | 'open' | 'policy'

/** What a caller insists on. Checked before any user command runs; what falls short is `unsupported_feature`. */
export interface FeatureRequirements {
  /** The least isolation, in the order none < process < container < vm. */
  readonly isolation?: Isolation
  readonly killTree?: 'proven'
  readonly tty?: true
  readonly pause?: true
  readonly ports?: true
  readonly users?: true
  readonly bindMounts?: true
  readonly reattach?: true
  readonly persistentWorkspace?: true
  readonly network?: NetworkKind
  readonly limits?: { readonly [K in keyof LimitFeatures]?: true }
}
