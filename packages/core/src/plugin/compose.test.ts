import 'reflect-metadata'
import { container as rootContainer, inject, injectable } from 'tsyringe'
import { describe, expect, it } from 'vitest'
import type { BlobStore } from '../contracts/blob-store.js'
import type { SandboxClient } from '../contracts/client.js'
import type { EventSink } from '../contracts/observer.js'
import { BLOB_STORE, BLOB_STORE_NAME, CLOCK, EVENT_SINK, STATE_STORE } from '../di/tokens.js'
import type { Token } from '../di/tokens.js'
import { createHost } from '../host/create-host.js'
import { systemClock } from '../observe/system-clock.js'
import { createNoneEngine } from '../snapshot/none-engine.js'
import { createMemoryBlobStore } from '../store/memory-blob-store.js'
import { createMemoryGuard } from '../store/memory-guard.js'
import { createMemoryStateStore } from '../store/memory-state-store.js'
import { compose } from './compose.js'
import type { ComposeRequest } from './compose.js'
import { definePlugin } from './define-plugin.js'
import type { PluginRegistry } from './define-plugin.js'

const POOL = Symbol.for('@acme/pool') as Token<{ readonly name: string }>
const LINE = Symbol.for('@acme/line') as Token<{ readonly name: string }>

const plugin = (name: string, register: (registry: PluginRegistry) => void): ReturnType<typeof definePlugin> =>
  definePlugin({ name, register })

/** Stores that touch no disk, so that what fails leaves nothing anywhere. */
const inMemory = plugin('in-memory', (registry) => {
  registry.stateStore(() => createMemoryStateStore())
  registry.blobStore('memory', () => createMemoryBlobStore())
  registry.guard(() => createMemoryGuard())
})

const provide: ComposeRequest['provide'] = (scope) => scope.provide(CLOCK, () => systemClock)
const composed = (request: Partial<ComposeRequest>): ReturnType<typeof compose> =>
  compose({ plugins: [], provide, defaults: inMemory, ...request })

/** As much of a client as composing looks at. */
const client = (backendId: string, log: string[] = []): SandboxClient =>
  ({ backendId, [Symbol.asyncDispose]: async () => void log.push(`${backendId} disposed`) }) as unknown as SandboxClient

describe('createHost refuses', () => {
  const box = plugin('@acme/box', (registry) => registry.backend('box', () => client('box')))

  it.each<[string, Parameters<typeof createHost>[0]['plugins'], string]>([
    ['a plugin given twice', [box, box], 'the plugin @acme/box is given twice; remove one'],
    [
      'a name that two plugins register',
      [box, plugin('@other/box', (registry) => registry.backend('box', () => client('box')))],
      '@other/box registers backend box, which @acme/box has registered already; remove one of them',
    ],
    [
      'two stores',
      [inMemory, plugin('@acme/store', (registry) => registry.stateStore(() => createMemoryStateStore()))],
      '@acme/store registers a state store, which in-memory has registered already; remove one of them',
    ],
    [
      'what needs something that nobody brings',
      [plugin('@acme/box', (registry) => registry.backend('box', (services) => client(services.get(POOL).name)))],
      '@acme/box (backend box) needs @acme/pool, which is not provided by any plugin; add the plugin that brings it',
    ],
    [
      'services that need each other',
      [
        plugin('@acme/pool', (registry) => registry.service(POOL, (services) => services.get(LINE))),
        plugin('@acme/line', (registry) => registry.service(LINE, (services) => services.get(POOL))),
        plugin('@acme/box', (registry) => registry.backend('box', (services) => client(services.get(POOL).name))),
      ],
      'services need each other in a circle: @acme/pool (service @acme/pool) → @acme/line (service @acme/line) → ' +
        '@acme/pool (service @acme/pool)',
    ],
    [
      'a plugin that was built for other contracts',
      [{ ...box, contractMajor: 7 }],
      '@acme/box was built for version 7 of the contracts, and this is version 0: install a release of it for this ' +
        'version of @cofferdam/core',
    ],
    [
      'the function instead of the plugin',
      [(() => box) as unknown as typeof box],
      'plugins are what definePlugin returns; call the function that the package exports',
    ],
    [
      'a plugin that nobody defined',
      [{ name: 'mine', register: () => undefined } as unknown as typeof box],
      'plugins are what definePlugin returns; call the function that the package exports',
    ],
    [
      'a plugin that registers later',
      [plugin('@acme/late', (async () => undefined) as (registry: PluginRegistry) => void)],
      '@acme/late registers asynchronously; register at once, and wait in the factories',
    ],
    [
      'a backend that goes by another name',
      [plugin('@acme/box', (registry) => registry.backend('box', () => client('crate')))],
      '@acme/box registers backend box, but what it makes calls itself crate',
    ],
    [
      'an engine that goes by another name',
      [plugin('@acme/engine', (registry) => registry.snapshot('whole', async () => createNoneEngine()))],
      '@acme/engine registers snapshot engine whole, but what it makes calls itself none',
    ],
  ])('%s', async (_, plugins, message) => {
    const defaults = plugins.includes(inMemory) ? [] : [inMemory]
    const error = await createHost({ plugins: [...defaults, ...plugins] }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'invalid_config', message, details: { problems: [message] } })
  })

  it('with the very error of a factory, or of register', async () => {
    const failure = new RangeError('no connection')
    const fail = (): never => {
      throw failure
    }
    const inFactory = plugin('@acme/box', (registry) => registry.backend('box', fail))
    const later = plugin('@acme/box', (registry) => registry.backend('box', () => Promise.reject(failure)))
    for (const broken of [inFactory, later, plugin('@acme/box', fail)]) {
      await expect(createHost({ plugins: [inMemory, broken] })).rejects.toBe(failure)
    }
  })
})

describe('composing', () => {
  it('waits for what is made asynchronously, and disposes all of it, last made first', async () => {
    const log: string[] = []
    const services = await composed({
      plugins: [
        plugin('@acme/box', (registry) =>
          registry.backend('box', async (made) => client(made.get(POOL).name, log), { needs: [POOL] }),
        ),
        plugin('@acme/crate', (registry) => registry.backend('crate', () => client('crate', log))),
        plugin('@acme/pool', (registry) =>
          registry.service(POOL, async () => ({ name: 'box', [Symbol.dispose]: () => log.push('pool disposed') })),
        ),
      ],
    })
    expect([...services.backends.keys()]).toEqual(['box', 'crate'])
    await services[Symbol.asyncDispose]()
    expect(log).toEqual(['crate disposed', 'box disposed', 'pool disposed'])
  })

  it('disposes what was made when a later service fails', async () => {
    const log: string[] = []
    const failing = plugin('@acme/box', (registry) => {
      registry.backend('box', () => client('box', log))
      registry.backend('wrong', async () => client('other', log))
    })
    await expect(composed({ plugins: [failing] })).rejects.toMatchObject({ code: 'invalid_config' })
    expect(log).toEqual(['other disposed', 'box disposed'])
  })

  it('takes the defaults only for what nobody brings', async () => {
    const mine = createMemoryStateStore()
    const own = rootContainer.createChildContainer()
    own.register(BLOB_STORE, { useValue: createMemoryBlobStore() })
    let asked: [BlobStore, string] | undefined
    const services = await composed({
      container: own,
      plugins: [
        plugin('@acme/store', (registry) => {
          registry.stateStore(() => mine)
          registry.snapshot('none', (made) => {
            asked = [made.get(BLOB_STORE), made.get(BLOB_STORE_NAME)]
            return createNoneEngine()
          })
        }),
      ],
    })
    expect(services.states).toBe(mine)
    expect(asked).toEqual([own.resolve(BLOB_STORE), 'container'])
  })
})

class Sink implements EventSink {
  readonly clock: unknown
  constructor(clock: unknown) {
    this.clock = clock
  }
  emit(): void {}
  async close(): Promise<void> {}
}
inject(CLOCK)(Sink, undefined, 0)
injectable()(Sink)

describe("a container of the caller's", () => {
  it('has its decorated classes used beside what plugins bring, with services of the host', async () => {
    const own = rootContainer.createChildContainer()
    own.register(EVENT_SINK, { useClass: Sink })
    const other: EventSink = { emit: () => undefined, close: async () => undefined }
    const sinks = plugin('@acme/sink', (registry) => registry.eventSink(() => other))
    const services = await composed({ container: own, plugins: [sinks] })
    expect(services.sinks).toEqual([new Sink(systemClock), other])
  })

  it('may not bring what a plugin brings under the same name, or of which there is one', async () => {
    const own = rootContainer.createChildContainer()
    own.register(STATE_STORE, { useValue: createMemoryStateStore() })
    await expect(
      composed({ container: own, plugins: [inMemory], defaults: plugin('none', () => undefined) }),
    ).rejects.toThrow(
      "in-memory registers a state store, which the caller's container has registered already; remove one of them",
    )
  })
})
