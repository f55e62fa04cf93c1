import type { BlobStore } from '../contracts/blob-store.js'
import type { Capability } from '../contracts/capability.js'
import type { SandboxClient } from '../contracts/client.js'
import type { ExecutionGuard } from '../contracts/guard.js'
import type { EventSink } from '../contracts/observer.js'
import type { SnapshotEngine } from '../contracts/snapshot.js'
import type { StateStore } from '../contracts/state-store.js'
import { Scope } from '../di/scope.js'
import type { DependencyContainer, ProvideOptions } from '../di/scope.js'
import {
  BLOB_STORE,
  BLOB_STORE_NAME,
  CAPABILITY,
  EVENT_SINK,
  EXECUTION_GUARD,
  SANDBOX_CLIENT,
  SNAPSHOT_ENGINE,
  STATE_STORE,
} from '../di/tokens.js'
import type { Token } from '../di/tokens.js'
import { SandboxError } from '../errors/sandbox-error.js'
import { CONTRACT_MAJOR } from './define-plugin.js'
import type { CofferdamPlugin, PluginRegistry, ServiceFactory } from './define-plugin.js'

export interface ComposeRequest {
  readonly plugins: readonly CofferdamPlugin[]
  /** Services that are always there, provided before any plugin registers. */
  readonly provide: (scope: Scope) => void
  /** What is used where neither a plugin nor the container brings it. */
  readonly defaults: CofferdamPlugin
  readonly container?: DependencyContainer
}

/** Everything that the plugins brought, made. Disposing it disposes all of that, last made first. */
export interface ComposedServices extends AsyncDisposable {
  readonly backends: ReadonlyMap<string, SandboxClient>
  readonly engines: ReadonlyMap<string, SnapshotEngine>
  readonly capabilities: ReadonlyMap<string, Capability>
  readonly states: StateStore
  readonly guard: ExecutionGuard
  readonly sinks: readonly EventSink[]
}

/** Lets all plugins register, makes what they registered, and checks that it fits together. Throws `invalid_config`. */
export async function compose(request: ComposeRequest): Promise<ComposedServices> {
  const plugins = checkPlugins(request.plugins)
  const scope = Scope.create(request.container)
  try {
    request.provide(scope)
    const names = new Names()
    for (const plugin of plugins) register(plugin, new Registrar(scope, names, plugin.name))
    if (scope.adopts(BLOB_STORE) && !scope.provides(BLOB_STORE_NAME)) scope.provide(BLOB_STORE_NAME, () => 'container')
    register(request.defaults, new DefaultsRegistrar(scope, names, request.defaults.name))
    return await makeAll(scope)
  } catch (error) {
    await scope.dispose().catch((failure: unknown) => {
      throw new AggregateError([error, failure], 'the host could not be composed, nor what was made disposed')
    })
    throw error
  }
}

function register(plugin: CofferdamPlugin, registry: PluginRegistry): void {
  const returned: unknown = plugin.register(registry)
  if (!(returned instanceof Promise)) return
  returned.catch(() => undefined)
  throw invalid(`${plugin.name} registers asynchronously; register at once, and wait in the factories`)
}

async function makeAll(scope: Scope): Promise<ComposedServices> {
  const states = await scope.ready(STATE_STORE)
  const guard = await scope.ready(EXECUTION_GUARD)
  const sinks = await scope.getAll(EVENT_SINK)
  const engines = byName(await scope.getAll(SNAPSHOT_ENGINE), (engine) => engine.kind, 'snapshot engine')
  const backends = byName(await scope.getAll(SANDBOX_CLIENT), (client) => client.backendId, 'backend')
  const capabilities = byName(await scope.getAll(CAPABILITY), (capability) => capability.type, 'capability')
  return { states, guard, sinks, engines, backends, capabilities, [Symbol.asyncDispose]: () => scope.dispose() }
}

function byName<T>(services: readonly T[], nameOf: (service: T) => string, what: string): Map<string, T> {
  const named = new Map<string, T>()
  for (const service of services) {
    const name = nameOf(service)
    if (named.has(name)) {
      throw invalid(
        `${what} ${name} is there twice: in the caller's container, and there again or in a plugin; remove one`,
      )
    }
    named.set(name, service)
  }
  return named
}

function checkPlugins(plugins: readonly CofferdamPlugin[]): readonly CofferdamPlugin[] {
  const seen = new Set<string>()
  for (const plugin of plugins) {
    if (
      typeof plugin?.register !== 'function' ||
      typeof plugin.name !== 'string' ||
      plugin.contractMajor === undefined
    ) {
      throw invalid('plugins are what definePlugin returns; call the function that the package exports')
    }
    if (plugin.contractMajor !== CONTRACT_MAJOR) {
      throw invalid(
        `${plugin.name} was built for version ${String(plugin.contractMajor)} of the contracts, and this is version ` +
          `${CONTRACT_MAJOR}: install a release of it for this version of @cofferdam/core`,
      )
    }
    if (seen.has(plugin.name)) throw invalid(`the plugin ${plugin.name} is given twice; remove one`)
    seen.add(plugin.name)
  }
  return plugins
}

/** Who registered which name. */
class Names {
  readonly #owners = new Map<string, string>()

  take(name: string, plugin: string): void {
    const owner = this.#owners.get(name)
    if (owner !== undefined)
      throw invalid(`${plugin} registers ${name}, which ${owner} has registered already; remove one of them`)
    this.#owners.set(name, plugin)
  }
}

class Registrar implements PluginRegistry {
  readonly scope: Scope
  readonly #names: Names
  readonly #plugin: string

  constructor(scope: Scope, names: Names, plugin: string) {
    this.scope = scope
    this.#names = names
    this.#plugin = plugin
  }

  backend(id: string, factory: ServiceFactory<SandboxClient>, options?: ProvideOptions): void {
    const checked = this.#checkName(factory, (client) => client.backendId, `backend ${id}`, id)
    this.#provide(SANDBOX_CLIENT, `backend ${id}`, checked, options)
  }

  snapshot(kind: string, factory: ServiceFactory<SnapshotEngine>, options?: ProvideOptions): void {
    const checked = this.#checkName(factory, (engine) => engine.kind, `snapshot engine ${kind}`, kind)
    this.#provide(SNAPSHOT_ENGINE, `snapshot engine ${kind}`, checked, options)
  }

  capability(type: string, factory: ServiceFactory<Capability>, options?: ProvideOptions): void {
    const checked = this.#checkName(factory, (capability) => capability.type, `capability ${type}`, type)
    this.#provide(CAPABILITY, `capability ${type}`, checked, options)
  }

  stateStore(factory: ServiceFactory<StateStore>, options?: ProvideOptions): void {
    this.#provideOnly(STATE_STORE, 'a state store', factory, options)
  }

  blobStore(name: string, factory: ServiceFactory<BlobStore>, options?: ProvideOptions): void {
    this.#provideOnly(BLOB_STORE, 'a blob store', factory, options)
    this.scope.provide(BLOB_STORE_NAME, () => name)
  }

  guard(factory: ServiceFactory<ExecutionGuard>, options?: ProvideOptions): void {
    this.#provideOnly(EXECUTION_GUARD, 'a guard', factory, options)
  }

  eventSink(factory: ServiceFactory<EventSink>, options?: ProvideOptions): void {
    this.scope.provide(EVENT_SINK, factory, { label: `event sink of ${this.#plugin}`, ...options })
  }

  service<T>(token: Token<T>, factory: ServiceFactory<T>, options?: ProvideOptions): void {
    this.#provideOnly(token, `service ${token.description ?? ''}`, factory, options)
  }

  #provide<T>(token: Token<T>, name: string, factory: ServiceFactory<T>, options?: ProvideOptions): void {
    this.#names.take(name, this.#plugin)
    this.scope.provide(token, factory, { label: `${this.#plugin} (${name})`, ...options })
  }

  /** Of these a host has one. */
  #provideOnly<T>(token: Token<T>, name: string, factory: ServiceFactory<T>, options?: ProvideOptions): void {
    if (this.scope.adopts(token)) this.#names.take(name, "the caller's container")
    this.#provide(token, name, factory, options)
  }

  /** A service that goes by another name than it was registered under would never be found. */
  #checkName<T>(
    factory: ServiceFactory<T>,
    nameOf: (made: T) => string,
    what: string,
    name: string,
  ): ServiceFactory<T> {
    const check = (made: T): T | Promise<T> => (nameOf(made) === name ? made : refuse(made))
    const refuse = async (made: T): Promise<never> => {
      await (made as Partial<AsyncDisposable>)[Symbol.asyncDispose]?.()
      throw invalid(`${this.#plugin} registers ${what}, but what it makes calls itself ${nameOf(made)}`)
    }
    return (services) => {
      const made = factory(services)
      return made instanceof Promise ? made.then(check) : check(made as T)
    }
  }
}

/** Registers only what nobody else did. */
class DefaultsRegistrar extends Registrar {
  override stateStore(factory: ServiceFactory<StateStore>, options?: ProvideOptions): void {
    if (!this.scope.provides(STATE_STORE)) super.stateStore(factory, options)
  }

  override blobStore(name: string, factory: ServiceFactory<BlobStore>, options?: ProvideOptions): void {
    if (!this.scope.provides(BLOB_STORE)) super.blobStore(name, factory, options)
  }

  override guard(factory: ServiceFactory<ExecutionGuard>, options?: ProvideOptions): void {
    if (!this.scope.provides(EXECUTION_GUARD)) super.guard(factory, options)
  }
}

function invalid(problem: string): SandboxError<'invalid_config'> {
  return new SandboxError('invalid_config', problem, { problems: [problem] })
}
