import type { ZodType } from 'zod'
import type { BackendFeatures, FeatureRequirements } from './features.js'
import type { NativeSnapshotRef, Sandbox, SandboxState } from './sandbox.js'

/**
 * Makes, finds and removes sandboxes of one kind. A host has one client per registered backend and disposes it last.
 *
 * A client keeps nothing that it could not find again: what exists is known from the provider, by the identity labels of
 * `CreateSandbox`. Disposal closes connections and listeners and leaves every sandbox as it is.
 */
export interface SandboxClient<S extends SandboxState = SandboxState> extends AsyncDisposable {
  /** `local`, `docker`, …: stable, unique per host, stored in records. */
  readonly backendId: string
  /** Frozen: the ceiling. What holds for one sandbox is `Sandbox.features`. */
  readonly features: BackendFeatures
  /** The one place where state is parsed. Strict: unknown members, wrong types and paths that lead elsewhere are refused. */
  readonly stateSchema: ZodType<S>
  /**
   * Idempotent by `request.name`: a create whose reply was lost finds the same sandbox again. Runs no command of a user.
   * What was made before a failure is removed. Throws `backend_unavailable`, `image_unavailable`, `quota_exceeded`,
   * `unsupported_feature` (for `requires`), `no_space`, `aborted`.
   */
  create(request: CreateSandbox, options?: ClientCallOptions): Promise<Sandbox<S>>
  /**
   * Finds a sandbox again; never makes one. Confirmed absence is `sandbox_gone`. When it was made from another plan than
   * `request`, `plan_changed` — unless `plan: 'any'`, with which core saves the work of the old one before it replaces it.
   *
   * A state is untrusted, so the labels decide: one of a sandbox of another deployment or slot than `request.identity` names
   * is `sandbox_gone` too, in the words for one that is not there.
   */
  resume(state: S, request: CreateSandbox, options?: ResumeOptions): Promise<Sandbox<S>>
  /** Throws when it cannot tell: unknown is never absent. */
  probe(state: S, options?: ClientCallOptions): Promise<SandboxPresence>
  /** Removes it and everything of it, in any state. Absent is success. */
  delete(state: S, options?: ClientCallOptions): Promise<void>
  /** All sandboxes of one deployment (and slot, session) by their labels. */
  list(filter: IdentityFilter, options?: ClientCallOptions): AsyncIterable<SandboxSummary<S>>
}

export interface ClientCallOptions {
  readonly signal?: AbortSignal
}

export interface ResumeOptions extends ClientCallOptions {
  /** Default `match`. */
  readonly plan?: 'match' | 'any'
}

export type SandboxPresence = 'running' | 'stopped' | 'paused' | 'absent'

/** Who a sandbox belongs to. Becomes labels, which never change. */
export interface SandboxIdentity {
  /** Which installation of an application; hosts of one deployment reap each other's leftovers. */
  readonly deployment: string
  /** Hash of the slot key, lower-case hex. */
  readonly slotHash: string
  readonly sessionId: string
}

/** Everything a sandbox is made from: today's configuration, never a stored one. */
export interface CreateSandbox {
  /** Deterministic from the claim, unique in the deployment: `[a-z0-9][a-z0-9-]{0,62}`. */
  readonly name: string
  readonly identity: SandboxIdentity
  /** Absolute sandbox path asked for, default `/workspace`. A backend that cannot choose says its own in `Sandbox.paths`. */
  readonly workspaceRoot: string
  /**
   * The environment of every command, beside what `SpawnRequest.env` adds. What is neither here nor there is not set, but
   * for two things that a backend may add: conventional names that nobody gave a value (`PATH`, `HOME`, `USER`, `LOGNAME`,
   * `SHELL`, `HOSTNAME`, `LANG`, `TMPDIR`, `TERM` on a terminal) and its own, which begin with `COFFERDAM_` and win over
   * equal ones. Nothing ever comes from the environment of the host's process.
   */
  readonly environment: Readonly<Record<string, string>>
  readonly mounts: readonly MountPlan[]
  readonly limits: Limits
  readonly network: NetworkPlan
  /** `on`: commands may run as different users inside. Needs `features.users`. */
  readonly users: 'off' | 'on'
  /** Whether an image's own entry point runs. */
  readonly entrypoint: 'ignore' | 'run'
  readonly fromNative: NativeSnapshotRef | null
  /** Checked against the new sandbox's features before any command. */
  readonly requires: FeatureRequirements
}

/** A directory or file of the host inside the sandbox. Granted by the application, never by a manifest alone. */
export interface MountPlan {
  /** Real path on the host. */
  readonly source: string
  /** Absolute sandbox path. */
  readonly target: string
  readonly readOnly: boolean
}

/** Bounds on the whole sandbox; null = none asked for. */
export interface Limits {
  readonly memoryBytes: number | null
  /** In cores; 0.5 is half of one. */
  readonly cpus: number | null
  readonly pids: number | null
  readonly diskBytes: number | null
}

export type NetworkPlan =
  | { readonly kind: 'none' }
  | { readonly kind: 'open' }
  | { readonly kind: 'policy'; readonly allow: readonly NetworkRule[] }

/** One allowed destination: a CIDR or a host name, with ports (empty = all). */
export interface NetworkRule {
  readonly destination: string
  readonly ports: readonly number[]
}

export interface IdentityFilter {
  readonly deployment: string
  readonly slotHash?: string
  readonly sessionId?: string
}

/** One line of `list`: enough to judge and remove it. */
export interface SandboxSummary<S extends SandboxState = SandboxState> {
  readonly id: string
  readonly name: string
  readonly identity: SandboxIdentity
  readonly state: S
  readonly presence: SandboxPresence
  /** Milliseconds since the epoch, or null where the provider does not keep it. */
  readonly createdAtMs: number | null
}
