import type { NetworkPlan, SandboxClient } from '@cofferdam/core/plugin'

/** What `create` may know of the run that it is part of. */
export interface TargetContext {
  /** The deployment of every sandbox of this run, for labels and for a census. */
  readonly deployment: string
}

/** A failure that is known and explained. When the case passes after all, the run fails: the entry is out of date. */
export interface KnownFailure {
  readonly reason: string
  readonly issue?: string
}

/** A backend to be examined. */
export interface BackendTarget {
  readonly kind: 'backend'
  /** Shown in titles and reports. */
  readonly name: string
  /**
   * Makes a client. Called for every case, and again where a case needs a second host: all clients of a run look at the
   * same provider, so that each finds what another made. The suite disposes of them.
   */
  create(context: TargetContext): Promise<SandboxClient> | SandboxClient
  /**
   * One line for everything of this backend that is alive: sandboxes, processes, mounts, folders. Taken before and after
   * every case; what is left over fails the case.
   */
  census?(context: TargetContext): Promise<readonly string[]> | readonly string[]
  /** Called once, after the last case. */
  tearDown?(): Promise<void> | void
  /** Environment of the sandboxes. Default: a `PATH` with the usual directories. */
  readonly environment?: Readonly<Record<string, string>>
  /** Default `/workspace`. */
  readonly workspaceRoot?: string
  /** Default: `none` where that is enforced, else `open`. */
  readonly network?: NetworkPlan
  /** By the id of the case. */
  readonly known?: Readonly<Record<string, KnownFailure>>
}

/** Types a target; the file that exports it is all that a conformance run needs. */
export function defineTarget(target: BackendTarget): BackendTarget {
  return target
}
