import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHost, createMemoryBlobStore, createMemoryGuard, createMemoryStateStore } from '@cofferdam/core'
import type { AcquireRequest, Host, HostOptions, SandboxEvent } from '@cofferdam/core'
import { definePlugin } from '@cofferdam/core/plugin'
import type { BlobStore, CofferdamPlugin, ExecutionGuard, StateStore } from '@cofferdam/core/plugin'
import { createMemoryWorld, memoryBackend } from '@cofferdam/testkit'
import type { MemoryWorld } from '@cofferdam/testkit'

/** What outlives a host: the provider and the stores, as several hosts would share them. */
export interface TestPlace {
  readonly world: MemoryWorld
  readonly states: StateStore
  readonly blobs: BlobStore
  readonly guard: ExecutionGuard
  readonly baseDir: string
  host(options?: Partial<HostOptions>): Promise<TestHost>
  remove(): Promise<void>
}

export interface TestHost extends AsyncDisposable {
  readonly host: Host
  readonly events: SandboxEvent[]
  acquire(request?: AcquireRequest): ReturnType<Host['acquire']>
}

/** A place of its own on the memory backend; `remove` leaves nothing. */
export async function testPlace(): Promise<TestPlace> {
  const world = createMemoryWorld()
  const states = createMemoryStateStore()
  const blobs = createMemoryBlobStore()
  const guard = createMemoryGuard()
  const baseDir = await mkdtemp(join(tmpdir(), 'cofferdam-test-'))
  return {
    world,
    states,
    blobs,
    guard,
    baseDir,
    host: async (options = {}) => {
      const host = await createHost({
        plugins: [memoryBackend(world), sharedStores({ states, blobs, guard })],
        baseDir,
        drainOnSignals: false,
        logger: silent,
        ...options,
      })
      const events: SandboxEvent[] = []
      host.onEvent((event) => events.push(event))
      return {
        host,
        events,
        acquire: (request) => host.acquire(request),
        [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
      }
    },
    remove: () => rm(baseDir, { recursive: true, force: true }),
  }
}

/** Stores that a host uses and does not own, so that the next one finds them. */
export function sharedStores(stores: {
  readonly states: StateStore
  readonly blobs: BlobStore
  readonly guard: ExecutionGuard
}): CofferdamPlugin {
  return definePlugin({
    name: 'shared-stores',
    register: (registry) => {
      registry.stateStore(() => unowned(stores.states))
      registry.blobStore('memory', () => unowned(stores.blobs))
      registry.guard(() => unowned(stores.guard))
    },
  })
}

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }

function unowned<T extends AsyncDisposable>(service: T): T {
  return new Proxy(service, {
    get: (target, member) => {
      if (member === Symbol.asyncDispose) return () => Promise.resolve()
      const value: unknown = Reflect.get(target, member, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}
