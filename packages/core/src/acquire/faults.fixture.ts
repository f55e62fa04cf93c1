import { isSandboxError } from '@cofferdam/core'
import { definePlugin } from '@cofferdam/core/plugin'
import type { CofferdamPlugin, Sandbox, SandboxClient } from '@cofferdam/core/plugin'
import { createMemoryClient } from '@cofferdam/testkit'
import type { MemoryWorld } from '@cofferdam/testkit'

/** The service itself, but for the members that are given. Methods are called on the service, so that it works as ever. */
export function withMembers<T extends object>(service: T, members: (real: T) => Partial<T>): T {
  const own = members(service) as Record<PropertyKey, unknown>
  return new Proxy(service, {
    get: (target, member) => {
      if (Object.hasOwn(own, member)) return own[member]
      const value: unknown = Reflect.get(target, member, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

export interface FaultyBackendOptions {
  /** Default `memory`. */
  readonly id?: string
  readonly client?: (real: SandboxClient) => Partial<SandboxClient>
  /** For every sandbox that the client makes or finds. */
  readonly sandbox?: (real: Sandbox) => Partial<Sandbox>
}

/** The memory backend of a world with faults in front of it. */
export function faultyBackend(world: MemoryWorld, options: FaultyBackendOptions): CofferdamPlugin {
  const { id = 'memory' } = options
  const real = createMemoryClient(world) as unknown as SandboxClient
  const faulty = (sandbox: Sandbox): Sandbox => withMembers(sandbox, options.sandbox ?? (() => ({})))
  const client = withMembers(real, () => ({
    backendId: id,
    create: async (request, given) => faulty(await real.create(request, given)),
    resume: async (state, request, given) => faulty(await real.resume(state, request, given)),
  }))
  return definePlugin({
    name: `faulty-backend-${id}`,
    register: (registry) => registry.backend(id, () => withMembers(client, options.client ?? (() => ({})))),
  })
}

/** Codes of everything that went wrong, causes left out; `none` when nothing did. */
export async function codesOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    (error: unknown) => codes(error),
  )
}

function codes(error: unknown): string {
  if (error instanceof AggregateError) return `[${error.errors.map(codes).join(', ')}]`
  return isSandboxError(error) ? error.code : String(error)
}
