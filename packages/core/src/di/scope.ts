import 'reflect-metadata'
import { container as rootContainer } from 'tsyringe'
import type { DependencyContainer } from 'tsyringe'
import { isSandboxError, SandboxError } from '../errors/sandbox-error.js'
import type { Token } from './tokens.js'

export type { DependencyContainer } from 'tsyringe'

/** Gives services to factories. */
export interface Services {
  /** Throws `invalid_config` when nobody provides it, or when it is made asynchronously and was not named in `needs`. */
  get<T>(token: Token<T>): T
  find<T>(token: Token<T>): T | undefined
}

export interface ProvideOptions {
  /** What this service is called in messages. Default: the token's name. */
  readonly label?: string
  /** Services that must be made before. Needed only for those made asynchronously. */
  readonly needs?: readonly Token<unknown>[]
}

interface Provision {
  readonly label: string
  readonly needs: readonly Token<unknown>[]
  readonly factory: (services: Services) => unknown
  state: 'waiting' | 'making' | 'made'
  value: unknown
  pending: Promise<unknown> | undefined
}

/**
 * Services with their factories, on a tsyringe container. A service lives in the scope that provides it; its factory runs
 * once and sees that scope. Disposal is in reverse order of making, one at a time, and attempts everything.
 *
 * tsyringe resolves for callers who use its container; making, caching and disposal are done here, because it disposes in
 * parallel and in no order, ignores `Symbol.asyncDispose`, and strips errors of their code and cause.
 */
export class Scope implements Services {
  readonly #container: DependencyContainer
  readonly #adopted: DependencyContainer | undefined
  readonly #parent: Scope | undefined
  readonly #provisions = new Map<symbol, Provision[]>()
  readonly #made: unknown[] = []
  readonly #path: string[] = []
  #disposed = false

  private constructor(container: DependencyContainer, from: { adopted?: DependencyContainer; parent?: Scope }) {
    this.#container = container
    this.#adopted = from.adopted
    this.#parent = from.parent
  }

  /** A scope of its own; with `adopted`, services of that container are found too. They stay the caller's to dispose. */
  static create(adopted?: DependencyContainer): Scope {
    const container = (adopted ?? rootContainer).createChildContainer()
    return new Scope(container, adopted === undefined ? {} : { adopted })
  }

  child(): Scope {
    return new Scope(this.#container.createChildContainer(), { parent: this })
  }

  /** Several may provide one token: `get` gives the last, `getAll` all of them. */
  provide<T>(token: Token<T>, factory: (services: Services) => T | Promise<T>, options: ProvideOptions = {}): void {
    const label = options.label ?? nameOf(token)
    const provision: Provision = {
      label,
      needs: options.needs ?? [],
      factory,
      state: 'waiting',
      value: undefined,
      pending: undefined,
    }
    const all = this.#provisions.get(token) ?? []
    this.#provisions.set(token, [...all, provision])
    this.#container.register(token, { useFactory: () => this.#make(provision) })
  }

  provides(token: Token<unknown>): boolean {
    return (
      this.#provisions.has(token) ||
      this.#adopted?.isRegistered(token, true) === true ||
      this.#parent?.provides(token) === true
    )
  }

  get<T>(token: Token<T>): T {
    if (!this.provides(token)) {
      const by = this.#path.at(-1)
      throw invalid(
        `${by === undefined ? '' : `${by} needs `}${nameOf(token)}${by === undefined ? ' is' : ', which is'} not provided by any plugin`,
      )
    }
    return this.find(token) as T
  }

  find<T>(token: Token<T>): T | undefined {
    const own = this.#provisions.get(token)?.at(-1)
    if (own !== undefined) return this.#make(own) as T
    if (this.#parent?.provides(token) === true) return this.#parent.find(token)
    return this.#adopted?.isRegistered(token, true) === true ? (this.#resolve(token)[0] as T) : undefined
  }

  /** Everything under a token: that of the adopted container first, then in order of providing. */
  async getAll<T>(token: Token<T>): Promise<T[]> {
    const adopted = this.#adopted?.isRegistered(token, true) === true ? this.#resolveAdopted(token) : []
    const own: T[] = []
    for (const provision of this.#provisions.get(token) ?? []) own.push((await this.#makeReady(provision)) as T)
    return [...(adopted as T[]), ...own]
  }

  /** The service, made with everything it needs, also when its factory is asynchronous. */
  async ready<T>(token: Token<T>): Promise<T> {
    const own = this.#provisions.get(token)?.at(-1)
    return own === undefined ? this.get(token) : ((await this.#makeReady(own)) as T)
  }

  /** Disposes what was made, last first. Every one is attempted; throws one `AggregateError`. */
  async dispose(): Promise<void> {
    if (this.#disposed) return
    this.#disposed = true
    const failures: unknown[] = []
    for (const value of this.#made.splice(0).reverse()) {
      try {
        await disposeOf(value)
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'some services could not be disposed')
  }

  #make(provision: Provision): unknown {
    if (provision.state === 'made') return provision.value
    if (provision.pending !== undefined) {
      throw invalid(
        `${this.#path.at(-1) ?? 'a service'} uses ${provision.label}, which is made asynchronously: name its token in needs`,
      )
    }
    this.#enter(provision)
    try {
      const value = provision.factory(this)
      if (value instanceof Promise) {
        provision.pending = value
        value.catch(() => undefined)
        throw invalid(
          `${this.#path.at(-2) ?? 'a service'} uses ${provision.label}, which is made asynchronously: name its token in needs`,
        )
      }
      return this.#keep(provision, value)
    } finally {
      this.#leave(provision)
    }
  }

  async #makeReady(provision: Provision): Promise<unknown> {
    if (provision.state === 'made') return provision.value
    if (provision.pending !== undefined) return this.#keep(provision, await provision.pending)
    this.#enter(provision)
    try {
      for (const token of provision.needs) if (this.provides(token)) await this.ready(token)
      // A need may have made it meanwhile.
      if (isMade(provision)) return provision.value
      const value = await provision.factory(this)
      return this.#keep(provision, value)
    } finally {
      this.#leave(provision)
    }
  }

  #keep(provision: Provision, value: unknown): unknown {
    if (isMade(provision)) return provision.value
    provision.state = 'made'
    provision.value = value
    provision.pending = undefined
    this.#made.push(value)
    return value
  }

  #enter(provision: Provision): void {
    this.#path.push(provision.label)
    if (provision.state !== 'making') {
      provision.state = 'making'
      return
    }
    const circle = [...this.#path.slice(this.#path.indexOf(provision.label))].join(' → ')
    this.#path.pop()
    throw invalid(`services need each other in a circle: ${circle}`)
  }

  #leave(provision: Provision): void {
    this.#path.pop()
    if (provision.state === 'making') provision.state = 'waiting'
  }

  #resolve(token: symbol): unknown[] {
    try {
      return [this.#container.resolve<unknown>(token)]
    } catch (error) {
      throw explain(token, error)
    }
  }

  /** Through our container, so that what the caller registered can be given our services. */
  #resolveAdopted(token: symbol): unknown[] {
    const own = this.#provisions.get(token)?.length ?? 0
    if (own === 0) {
      try {
        return this.#container.resolveAll<unknown>(token)
      } catch (error) {
        throw explain(token, error)
      }
    }
    throw invalid(
      `${nameOf(token as Token<unknown>)} is registered both in the caller's container and by a plugin; keep one`,
    )
  }
}

function isMade(provision: Provision): boolean {
  return provision.state === 'made'
}

async function disposeOf(value: unknown): Promise<void> {
  if (typeof value !== 'object' || value === null) return
  if (Symbol.asyncDispose in value) await (value as AsyncDisposable)[Symbol.asyncDispose]()
  else if (Symbol.dispose in value) (value as Disposable)[Symbol.dispose]()
}

/** tsyringe says why only in its message; errors of ours come out as they are. */
function explain(token: symbol, error: unknown): unknown {
  if (isSandboxError(error)) return error
  const reason = error instanceof Error ? error.message : String(error)
  return new SandboxError(
    'invalid_config',
    `the container cannot make ${nameOf(token as Token<unknown>)}: ${reason}`,
    { problems: [reason] },
    { cause: error },
  )
}

function nameOf(token: Token<unknown>): string {
  return (token.description ?? 'a service').replace('@cofferdam/core/', '')
}

function invalid(problem: string): SandboxError<'invalid_config'> {
  return new SandboxError('invalid_config', problem, { problems: [problem] })
}
