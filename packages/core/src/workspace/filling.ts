import type { SandboxEventBody } from '../contracts/observer.js'
import type { Sandbox } from '../contracts/sandbox.js'
import type { HostSources } from './host-source.js'
import type { Rollback } from './rollback.js'
import type { WorkspaceView } from './workspace-view.js'

/** As much of a sandbox as filling its workspace takes. */
export type WorkspaceSandbox = Pick<Sandbox, 'features' | 'files' | 'paths' | 'spawn'>

/** What the kinds of entries work with during one call of `materialize`. */
export interface Filling {
  readonly sandbox: WorkspaceSandbox
  readonly view: WorkspaceView
  readonly rollback: Rollback
  /** Opened when the first entry needs it. */
  readonly host: () => Promise<HostSources>
  readonly secrets: (ref: string) => Promise<string>
  readonly emit: (event: SandboxEventBody) => void
  /** An absolute path in the control folder that nobody else uses; its folder is there. Removed at the end. */
  readonly staging: () => Promise<string>
  /** Workspace-relative. Nothing of an entry may lie at or beneath one. */
  readonly mounts: readonly string[]
  readonly signal?: AbortSignal
}
