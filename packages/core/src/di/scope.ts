import 'reflect-metadata'
import { container as rootContainer } from 'tsyringe'
import type { DependencyContainer } from 'tsyringe'
import { SandboxError } from '../errors/sandbox-error.js'
import type { Token } from './tokens.js'

export type { DependencyContainer } from 'tsyringe'

/** Gives services to factories. */
export interface Services {
  /** Throws `invalid_config` when nobody provides it, or when it is made asynchronously and was not named in `needs`. */
  get<T>(token: Token<T>): T
  /** The same, but undefined when nobody provides it. */
  find<T>(token: Token<T>): T | undefined
}

export interface ProvideOptions {
  /** What this service is called in messages. Default: the token's name. */
  readonly label?: string
  /** Services that must be made before. Needed only for those made asynchronously. What nobody provides is passed over. */
  readonly needs?: readonly Token<unknown>[]
}

/** One service and how it is made. */
interface Provision {
  readonly label: string
  readonly needs: readonly Token<unknown>[]
  readonly make: (chain: readonly Provision[]) => unknown
  /** Made by the caller's container: a list of all that is registered there, and never ours to dispose. */
  readonly adopted: boolean
  made?: { readonly value: unknown }
  pending?: Promise<unknown>
}

/**
 * Services with their factories, on a tsyringe container. A service lives in the scope that provides it; its factory runs
 * once and sees that scope. Disposal is in reverse order of making, one at a time, and attempts everything.
 *
 * tsyringe resolves for callers who use its container; making, caching and disposal are done here, because it keeps what
 * a child asked for first, disposes in parallel and in no order, ignores `Symbol.asyncDispose`, strips errors of their
 * code and cause, and answers circles with an overflow of the stack.
 */
export class Scope implements Services {
  /** Everything provided here is registered in it: for those who construct decorated classes themselves. */
  readonly container: DependencyContainer
  readonly #adopted: DependencyContainer | undefined
  readonly #parent: Scope | undefined
  readonly #provisions = new Map<symbol, Provision[]>()
  readonly #adoptedProvisions = new Map<symbol, Provision>()
  readonly #children = new Set<Scope>()
  readonly #made: unknown[] = []
  /** What is being made while the container resolves, which cannot be told by whom it was asked. */
  #resolving: readonly Provision[] = []
  /** Why a service of ours could not be given to the container, which would keep only the message. */
  #refused: unknown
  #disposal: Promise<void> | undefined

  private constructor(container: DependencyContainer, from: { adopted?: DependencyContainer; parent?: Scope }) {
    this.container = container
    this.#adopted = from.adopted
    this.#parent = from.parent
  }

  /** A scope of its own; with `adopted`, services of that container are found too. They stay the caller's to dispose. */
  static create(adopted?: DependencyContainer): Scope {
    const container = (adopted ?? rootContainer).createChildContainer()
    return new Scope(container, adopted === undefined ? {} : { adopted })
  }

  /** Finds what this scope has, and may provide the same tokens otherwise for itself. Disposed before this scope is. */
  child(): Scope {
    const child = new Scope(this.container.createChildContainer(), { parent: this })
    this.#children.add(child)
    return child
  }

  /** Several may provide one token: `get` gives the last, `getAll` all of them. */
  provide<T>(token: Token<T>, factory: (services: Services) => T | Promise<T>, options: ProvideOptions = {}): void {
    const provision: Provision = {
      label: options.label ?? nameOf(token),
      needs: options.needs ?? [],
      make: (chain) => factory(this.#servicesFor(chain)),
      adopted: false,
    }
    this.#provisions.set(token, [...(this.#provisions.get(token) ?? []), provision])
    this.#register(this.container, token, provision)
  }

  /** Whether `get` would look for a factory: here, in the scopes above, and in the adopted container. */
  provides(token: Token<unknown>): boolean {
    return this.#locate(token) !== undefined
  }

  /** Whether the caller's container has it. */
  adopts(token: Token<unknown>): boolean {
    return this.#adopted?.isRegistered(token, true) ?? this.#parent?.adopts(token) ?? false
  }

  get<T>(token: Token<T>): T {
    return this.#get(token, []) as T
  }

  find<T>(token: Token<T>): T | undefined {
    return this.#find(token, []) as T | undefined
  }

  /** Everything under a token in this scope: that of the adopted container first, then in order of providing. */
  async getAll<T>(token: Token<T>): Promise<T[]> {
    const all: unknown[] = []
    const adopted = this.#adoptedProvision(token)
    if (adopted !== undefined) all.push(...((await this.#ready(adopted, [])) as unknown[]))
    for (const provision of this.#provisions.get(token) ?? []) all.push(await this.#ready(provision, []))
    return all as T[]
  }

  /** The service, made with everything it needs, also when its factory is asynchronous. */
  async ready<T>(token: Token<T>): Promise<T> {
    const found = this.#locate(token)
    if (found === undefined) throw missing(token, [])
    return lastOf(found.provision, await found.scope.#ready(found.provision, [])) as T
  }

  /** Disposes what was made, last first. Every one is attempted; throws one `AggregateError`. Idempotent. */
  dispose(): Promise<void> {
    this.#disposal ??= this.#disposeAll()
    return this.#disposal
  }

  async #disposeAll(): Promise<void> {
    if (this.#parent !== undefined) this.#parent.#children.delete(this)
    const failures: unknown[] = []
    const attempt = async (dispose: () => unknown): Promise<void> => {
      try {
        await dispose()
      } catch (error) {
        failures.push(error)
      }
    }
    for (const child of [...this.#children].reverse()) await attempt(() => child.dispose())
    // What is still being made will be there in a moment, and nobody else knows of it.
    const pending = [...this.#provisions.values()].flat().flatMap(({ pending = [] }) => pending)
    await Promise.allSettled(pending)
    for (const value of this.#made.splice(0).reverse()) await attempt(() => disposeOf(value))
    if (failures.length > 0) throw new AggregateError(failures, 'some services could not be disposed')
  }

  #locate(token: symbol): { readonly scope: Scope; readonly provision: Provision } | undefined {
    const provision = this.#provisions.get(token)?.at(-1) ?? this.#adoptedProvision(token)
    if (provision !== undefined) return { scope: this, provision }
    return this.#parent === undefined ? undefined : this.#parent.#locate(token)
  }

  #get(token: symbol, chain: readonly Provision[]): unknown {
    const found = this.#locate(token)
    if (found === undefined) throw missing(token, chain)
    return lastOf(found.provision, found.scope.#make(found.provision, chain))
  }

  #find(token: symbol, chain: readonly Provision[]): unknown {
    return this.#locate(token) === undefined ? undefined : this.#get(token, chain)
  }

  #servicesFor(chain: readonly Provision[]): Services {
    return {
      get: <T>(token: Token<T>) => this.#get(token, chain) as T,
      find: <T>(token: Token<T>) => this.#find(token, chain) as T | undefined,
    }
  }

  #make(provision: Provision, chain: readonly Provision[]): unknown {
    if (provision.made !== undefined) return provision.made.value
    const inner = this.#enter(provision, chain)
    if (provision.pending === undefined) {
      const value = provision.make(inner)
      if (!isThenable(value)) return this.#keep(provision, value)
      void this.#wait(provision, this.#keepWhenThere(provision, value))
    }
    throw new NotMadeYet(provision, chain)
  }

  #ready(provision: Provision, chain: readonly Provision[]): Promise<unknown> {
    if (provision.made !== undefined) return Promise.resolve(provision.made.value)
    const inner = this.#enter(provision, chain)
    return provision.pending ?? this.#wait(provision, this.#prepare(provision, inner))
  }

  async #prepare(provision: Provision, chain: readonly Provision[]): Promise<unknown> {
    for (const token of provision.needs) {
      const need = this.#locate(token)
      if (need !== undefined) await need.scope.#ready(need.provision, chain)
    }
    for (;;) {
      try {
        const value = provision.make(chain)
        return isThenable(value) ? await this.#keepWhenThere(provision, value) : this.#keep(provision, value)
      } catch (error) {
        // A decorated class cannot say what it needs. It is tried again when that is there.
        if (!provision.adopted || !(error instanceof NotMadeYet)) throw error
        await error.provision.pending
      }
    }
  }

  #wait(provision: Provision, pending: Promise<unknown>): Promise<unknown> {
    provision.pending = pending
    const settled = (): void => {
      delete provision.pending
    }
    void pending.then(settled, settled)
    return pending
  }

  async #keepWhenThere(provision: Provision, value: PromiseLike<unknown>): Promise<unknown> {
    return this.#keep(provision, await value)
  }

  #keep(provision: Provision, value: unknown): unknown {
    provision.made = { value }
    if (!provision.adopted) this.#made.push(value)
    return value
  }

  #enter(provision: Provision, chain: readonly Provision[]): readonly Provision[] {
    if (this.#disposal !== undefined) throw new TypeError('the scope is disposed; it makes no more services')
    if (!chain.includes(provision)) return [...chain, provision]
    const circle = [...chain.slice(chain.indexOf(provision)), provision].map(({ label }) => label)
    throw invalid(`services need each other in a circle: ${circle.join(' → ')}`)
  }

  #register(container: DependencyContainer, token: symbol, provision: Provision): void {
    container.register(token, {
      useFactory: () => {
        try {
          return this.#make(provision, this.#resolving)
        } catch (error) {
          this.#refused = error
          throw error
        }
      },
    })
  }

  #adoptedProvision(token: symbol): Provision | undefined {
    const known = this.#adoptedProvisions.get(token)
    if (known !== undefined || this.#adopted?.isRegistered(token, true) !== true) return known
    const make = (chain: readonly Provision[]): unknown => {
      const services = this.#resolveAdopted(token, chain)
      return services.some(isThenable) ? Promise.all(services) : services
    }
    const provision: Provision = { label: `${nameOf(token)} of the caller's container`, needs: [], make, adopted: true }
    this.#adoptedProvisions.set(token, provision)
    return provision
  }

  /** What the caller registered is given our services: it is resolved through a child of the container that has them. */
  #resolveAdopted(token: symbol, chain: readonly Provision[]): unknown[] {
    const before = this.#resolving
    this.#resolving = chain
    this.#refused = undefined
    try {
      return this.#containerWithout(token).resolveAll<unknown>(token)
    } catch (error) {
      throw explain(token, error, this.#lastRefused())
    } finally {
      this.#resolving = before
    }
  }

  #lastRefused(): unknown {
    return this.#refused
  }

  /** Ours of the same token would hide the caller's. */
  #containerWithout(token: symbol): DependencyContainer {
    if (this.#adopted === undefined || !this.#provisions.has(token)) return this.container
    const container = this.#adopted.createChildContainer()
    for (const [other, provisions] of this.#provisions) {
      if (other !== token) for (const provision of provisions) this.#register(container, other, provision)
    }
    return container
  }
}

/** Asked for at once, and not there before its promise is kept. */
class NotMadeYet extends SandboxError<'invalid_config'> {
  readonly provision: Provision

  constructor(provision: Provision, chain: readonly Provision[]) {
    const by = chain.at(-1)?.label ?? 'a service'
    const problem = `${by} uses ${provision.label}, which is made asynchronously: name its token in needs`
    super('invalid_config', problem, { problems: [problem] })
    this.provision = provision
  }
}

function lastOf(provision: Provision, value: unknown): unknown {
  return provision.adopted ? (value as unknown[]).at(-1) : value
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

async function disposeOf(value: unknown): Promise<void> {
  if (typeof value !== 'object' || value === null) return
  if (Symbol.asyncDispose in value) await (value as AsyncDisposable)[Symbol.asyncDispose]()
  else if (Symbol.dispose in value) (value as Disposable)[Symbol.dispose]()
}

const SAID_BY_THE_CONTAINER =
  /^(Attempted to (resolve|construct)|Cannot inject the dependency|TypeInfo not known|Maximum call stack)/

/** The container says why only in its message. What a service of ours or a class of the caller throws comes out as it is. */
function explain(token: symbol, error: unknown, refused: unknown): unknown {
  const reason = error instanceof Error ? error.message : String(error)
  if (refused instanceof Error && reason.includes(refused.message)) return refused
  if (!SAID_BY_THE_CONTAINER.test(reason)) return error
  const why = reason.startsWith('Maximum') ? 'what is registered there needs each other in a circle' : reason
  return invalid(`the caller's container cannot make ${nameOf(token)}: ${why}`, error)
}

function missing(token: symbol, chain: readonly Provision[]): SandboxError<'invalid_config'> {
  const by = chain.at(-1)?.label
  const what = by === undefined ? `${nameOf(token)} is` : `${by} needs ${nameOf(token)}, which is`
  return invalid(`${what} not provided by any plugin; add the plugin that brings it`)
}

function nameOf(token: symbol): string {
  return (token.description ?? 'a service').replace('@cofferdam/core/', '')
}

function invalid(problem: string, cause?: unknown): SandboxError<'invalid_config'> {
  return new SandboxError('invalid_config', problem, { problems: [problem] }, { cause })
}
