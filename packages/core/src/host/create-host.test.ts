import 'reflect-metadata'
import { container as rootContainer, inject, injectable } from 'tsyringe'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createMemoryStateStore, isSandboxError } from '@cofferdam/core'
import type { HostOptions } from '@cofferdam/core'
import { definePlugin } from '@cofferdam/core/plugin'
import type {
  Clock,
  CofferdamPlugin,
  JsonValue,
  StateEntry,
  StatePage,
  StateStore,
  Token,
} from '@cofferdam/core/plugin'
import { CLOCK, STATE_STORE } from '@cofferdam/core/tsyringe'
import { createMemoryClient, createMemoryWorld, memoryBackend } from '@cofferdam/testkit'
import { testPlace } from '../acquire/test-host.fixture.js'
import type { TestPlace } from '../acquire/test-host.fixture.js'

let place: TestPlace

beforeEach(async () => {
  place = await testPlace()
})
afterEach(() => place.remove())

async function problemOf(options: Partial<HostOptions>): Promise<string> {
  try {
    const { host } = await place.host(options)
    await host[Symbol.asyncDispose]()
    return 'no problem'
  } catch (error) {
    if (!isSandboxError(error)) return String(error)
    return `${error.code}: ${error.message}`
  }
}

const plugin = (name: string, register: CofferdamPlugin['register']): CofferdamPlugin =>
  definePlugin({ name, register })
const client = () => createMemoryClient(createMemoryWorld())

describe('what does not fit together', () => {
  const GREETING = Symbol('Greeting') as Token<string>
  const cases: readonly [what: string, options: Partial<HostOptions>, problem: RegExp][] = [
    ['no backend', { plugins: [] }, /^invalid_config: .*no backend.*localBackend/],
    ['an unknown option', { pluginz: [] } as never, /^invalid_config: createHost: there is no option pluginz/],
    ['a plugin given twice', { plugins: [memoryBackend(), memoryBackend()] }, /^invalid_config: .*given twice/],
    [
      'a backend id taken',
      { plugins: [memoryBackend(), plugin('mine', (registry) => registry.backend('memory', client))] },
      /^invalid_config: mine registers backend memory, which @cofferdam\/testkit\/memory-backend has registered/,
    ],
    [
      'a client with another id than registered',
      { plugins: [plugin('mine', (registry) => registry.backend('other', client))] },
      /^invalid_config: mine registers backend other, but what it makes calls itself memory/,
    ],
    [
      'two state stores',
      {
        plugins: [
          plugin('a', (registry) => registry.stateStore(createMemoryStateStore)),
          plugin('b', (registry) => registry.stateStore(createMemoryStateStore)),
        ],
      },
      /^invalid_config: b registers a state store, which a has registered/,
    ],
    [
      'a service that nobody provides',
      {
        plugins: [
          plugin('mine', (registry) => registry.backend('memory', (services) => (services.get(GREETING), client()))),
        ],
      },
      /^invalid_config: mine \(backend memory\) needs Greeting, which is not provided by any plugin/,
    ],
    [
      'services in a circle',
      {
        plugins: [
          plugin('mine', (registry) => {
            const OTHER = Symbol('Other') as Token<string>
            registry.service(GREETING, (services) => services.get(OTHER))
            registry.service(OTHER, (services) => services.get(GREETING))
            registry.backend('memory', (services) => (services.get(GREETING), client()))
          }),
        ],
      },
      /^invalid_config: services need each other in a circle: .*Greeting.* → .*Other.* → .*Greeting/,
    ],
    [
      'a plugin of another major version',
      { plugins: [{ ...memoryBackend(), contractMajor: 7 }] },
      /^invalid_config: .*memory-backend was built for version 7 of the contracts, and this is version 0/,
    ],
    [
      'a function instead of its plugin',
      { plugins: [memoryBackend as never] },
      /^invalid_config: plugins are what definePlugin returns/,
    ],
    [
      'an unknown default backend',
      { defaultBackend: 'docker' },
      /^invalid_config: defaultBackend is docker, and the plugins bring memory/,
    ],
    [
      'isolation that is not there',
      { require: { isolation: 'container' } },
      /^unsupported_feature: .*isolation of at least container/,
    ],
    [
      'a limit that is not there',
      { require: { limits: { memory: true } } },
      /^unsupported_feature: .*memory limit is required/,
    ],
    [
      'isolation that nobody knows',
      { require: { isolation: 'docker' as never } },
      /^invalid_argument: require: isolation/,
    ],
    [
      'a misspelt requirement',
      { require: { isolaton: 'vm' } as never },
      /^invalid_argument: require: there is no requirement/,
    ],
    ['a requirement that is no yes', { require: { tty: 'yes' as never } }, /^invalid_argument: require: tty is true/],
    ['a short state key', { stateKey: new Uint8Array(8) }, /^invalid_config: .*at least 32 bytes/],
    ['a deployment that is no label', { deployment: 'Not A Label' }, /^invalid_config: .*deployment/],
  ]
  it.each(cases)('%s', async (_, options, problem) => {
    expect(await problemOf(options)).toMatch(problem)
  })

  it('lets the error of a factory out as it is, after disposing what was made', async () => {
    const disposed: string[] = []
    const failure = new RangeError('no such region')
    const broken = plugin('mine', (registry) => {
      registry.eventSink(() => ({
        emit: () => undefined,
        close: () => Promise.resolve(),
        ...disposable('sink', disposed),
      }))
      registry.backend('memory', () => Promise.reject(failure))
    })
    await expect(place.host({ plugins: [broken] })).rejects.toBe(failure)
    expect(disposed).toEqual(['sink'])
  })
})

describe('services', () => {
  it('are made once, asynchronously too, with what they need, and disposed last made first', async () => {
    const made: string[] = []
    const disposed: string[] = []
    const SLOW = Symbol('Slow') as Token<{ readonly word: string }>
    const mine = plugin('mine', (registry) => {
      registry.backend(
        'memory',
        (services) => {
          made.push(`backend with ${services.get(SLOW).word}`)
          return Object.assign(client(), disposable('backend', disposed))
        },
        { needs: [SLOW] },
      )
      registry.service(SLOW, async () => {
        await Promise.resolve()
        made.push('slow')
        return { word: 'salt', ...disposable('slow', disposed) }
      })
    })
    const { host } = await place.host({ plugins: [mine] })
    await host[Symbol.asyncDispose]()
    await host[Symbol.asyncDispose]()
    expect(made).toEqual(['slow', 'backend with salt'])
    expect(disposed).toEqual(['backend', 'slow'])
  })

  it('disposes everything although some of it fails, and throws all failures together', async () => {
    const disposed: string[] = []
    const failing = (name: string): AsyncDisposable => ({
      [Symbol.asyncDispose]: () => {
        disposed.push(name)
        return Promise.reject(new Error(name))
      },
    })
    const A = Symbol('A') as Token<AsyncDisposable>
    const B = Symbol('B') as Token<AsyncDisposable>
    const mine = plugin('mine', (registry) => {
      registry.service(A, () => failing('a'))
      registry.service(B, () => failing('b'))
      registry.backend('memory', (services) => (services.get(A), services.get(B), client()))
    })
    const { host } = await place.host({ plugins: [mine] })
    const error: unknown = await host.drain().catch((caught: unknown) => caught)
    expect(disposed).toEqual(['b', 'a'])
    expect(String((error as AggregateError).errors)).toMatch(/services could not be disposed/)
  })

  it("come from the caller's own container too, with ours injected", async () => {
    @injectable()
    class OwnStateStore implements StateStore {
      readonly #store = createMemoryStateStore()
      readonly createdAtMs: number
      constructor(@inject(CLOCK) clock: Clock) {
        this.createdAtMs = clock.nowMs()
        stores.push(this)
      }
      get(key: string): Promise<StateEntry | undefined> {
        return this.#store.get(key)
      }
      put(
        key: string,
        value: JsonValue,
        options?: { readonly ifVersion?: string | null },
      ): Promise<{ readonly version: string }> {
        return this.#store.put(key, value, options)
      }
      delete(key: string): Promise<void> {
        return this.#store.delete(key)
      }
      list(prefix: string): Promise<StatePage> {
        return this.#store.list(prefix)
      }
      async [Symbol.asyncDispose](): Promise<void> {
        await this.#store[Symbol.asyncDispose]()
      }
    }
    const stores: OwnStateStore[] = []
    const container = rootContainer.createChildContainer()
    container.register(STATE_STORE, { useClass: OwnStateStore })
    const { host } = await place.host({ plugins: [memoryBackend()], container })
    const session = await host.acquire({ scope: { session: 'one' }, snapshots: { kind: 'none' } })
    expect(stores).toHaveLength(1)
    expect((await stores[0]?.list('records/'))?.keys).toHaveLength(1)
    await session.release()
    await host[Symbol.asyncDispose]()
  })
})

describe('drain', () => {
  it('releases all sessions, refuses new ones, and keeps what they did', async () => {
    const { host } = await place.host()
    const session = await host.acquire({ scope: { session: 'a' } })
    await session.files.write('work.txt', 'kept')
    const late = host.acquire({ scope: { session: 'b' } })
    await Promise.all([host.drain(), host.drain()])
    await late
    expect(session.status).toBe('closed')
    expect(host.sessions()).toEqual([])
    await expect(host.acquire()).rejects.toMatchObject({ code: 'not_running' })
    await using next = await place.host()
    const again = await next.acquire({ scope: { session: 'a' } })
    expect(await again.files.readText('work.txt')).toBe('kept')
  })

  it('gives up at its deadline and says what stays', async () => {
    const { host } = await place.host()
    let finish: () => void = () => undefined
    const endless = new Promise<void>((resolve) => (finish = resolve))
    await host.acquire({ scope: { session: 'a' }, hooks: { preStop: () => endless } })
    const error: unknown = await host.drain({ deadlineMs: 20 }).catch((caught: unknown) => caught)
    expect((error as AggregateError).errors[0]).toMatchObject({ code: 'timeout', details: { timeoutMs: 20 } })
    finish()
  })
})

function disposable(name: string, disposed: string[]): AsyncDisposable {
  return {
    [Symbol.asyncDispose]: () => {
      disposed.push(name)
      return Promise.resolve()
    },
  }
}
