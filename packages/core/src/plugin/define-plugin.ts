import type { BlobStore } from '../contracts/blob-store.js'
import type { Capability } from '../contracts/capability.js'
import type { SandboxClient } from '../contracts/client.js'
import type { ExecutionGuard } from '../contracts/guard.js'
import type { EventSink } from '../contracts/observer.js'
import type { SnapshotEngine } from '../contracts/snapshot.js'
import type { StateStore } from '../contracts/state-store.js'
import type { Scope, Services } from '../di/scope.js'
import type { ProvideOptions } from '../di/scope.js'
import type { Token } from '../di/tokens.js'

/** Major version of the contracts that this copy of core has. Plugins carry the one they were built with. */
export const CONTRACT_MAJOR = 0

/** Makes a service. Runs once, at `createHost`; may be asynchronous. What it throws comes out of `createHost` as it is. */
export type ServiceFactory<T> = (services: Services) => T | Promise<T>

/** Where a plugin says what it brings. Registering a name twice is `invalid_config`. */
export interface PluginRegistry {
  /** A client, under the id that users name and records keep. The client's `backendId` must be the same. */
  backend(id: string, factory: ServiceFactory<SandboxClient>, options?: ProvideOptions): void
  /** An engine, under its kind. */
  snapshot(kind: string, factory: ServiceFactory<SnapshotEngine>, options?: ProvideOptions): void
  /** A capability that agents can name by its type. */
  capability(type: string, factory: ServiceFactory<Capability>, options?: ProvideOptions): void
  /** Instead of the folder store. At most one in a host. */
  stateStore(factory: ServiceFactory<StateStore>, options?: ProvideOptions): void
  /** Instead of the folder store; `name` stands in snapshot refs. At most one in a host. */
  blobStore(name: string, factory: ServiceFactory<BlobStore>, options?: ProvideOptions): void
  /** Instead of the folder guard. At most one in a host. */
  guard(factory: ServiceFactory<ExecutionGuard>, options?: ProvideOptions): void
  eventSink(factory: ServiceFactory<EventSink>, options?: ProvideOptions): void
  /** Anything else, for this plugin's or others' factories. */
  service<T>(token: Token<T>, factory: ServiceFactory<T>, options?: ProvideOptions): void
  /** The host's scope, for those who want to work on it themselves. */
  readonly scope: Scope
}

export interface PluginDefinition {
  /** The package's name. Unique in a host. */
  readonly name: string
  /** Called once by `createHost`. Makes nothing yet: what takes resources belongs in the factories. */
  register(registry: PluginRegistry): void
}

/** What `createHost` takes. Made by `definePlugin`. */
export interface CofferdamPlugin extends PluginDefinition {
  /** Major version of the contracts that it was built with. */
  readonly contractMajor: number
}

/** Defines a plugin. Its options are the arguments of a function around it. */
export function definePlugin(definition: PluginDefinition): CofferdamPlugin {
  return Object.freeze({
    name: definition.name,
    register: (registry: PluginRegistry) => definition.register(registry),
    contractMajor: CONTRACT_MAJOR,
  })
}
