import type { Manifest } from '../manifest/manifest.js'
import type { JsonValue } from '../errors/error-details.js'
import type { Logger } from './logger.js'
import type { SandboxSession } from './session.js'
import type { Tool } from './tool.js'

/**
 * What an agent can do in a sandbox, as a definition. It holds no session and no state, so one definition serves any
 * number of runs at once; `bind` makes a fresh object for each.
 */
export interface Capability {
  /** `shell`, `filesystem`, …: unique among the capabilities of an agent. */
  readonly type: string
  /** Types of capabilities that must be given too. */
  readonly requires: readonly string[]
  /** What the workspace must hold for it. Pure: the same manifest in gives the same manifest out. */
  manifest(manifest: Manifest): Manifest
  bind(context: CapabilityContext): Promise<BoundCapability>
}

export interface CapabilityContext {
  readonly session: SandboxSession
  readonly logger: Logger
  /** User that tools run as, or null for the sandbox's own. */
  readonly runAs: string | null
  readonly signal?: AbortSignal
}

/** A capability on one session, for one run. Disposal ends what it started. */
export interface BoundCapability extends AsyncDisposable {
  readonly tools: readonly Tool[]
  /** Added to the agent's instructions; null = nothing. */
  readonly instructions: string | null
  /** Changes to sampling parameters, merged in declared order. */
  readonly sampling: { readonly [key: string]: JsonValue }
  /** May rewrite what is sent to the model. */
  input(items: readonly JsonValue[]): Promise<readonly JsonValue[]>
}
