import 'reflect-metadata'
import { setImmediate } from 'node:timers/promises'
import { Lifecycle, container as rootContainer, inject, injectable } from 'tsyringe'
import { describe, expect, it } from 'vitest'
import { SandboxError } from '../errors/sandbox-error.js'
import { Scope } from './scope.js'
import type { Token } from './tokens.js'

const token = <T>(name: string): Token<T> => Symbol(name) as Token<T>
const NUMBER = token<number>('number')
const TEXT = token<string>('text')
const LIST = token<{ readonly of: string }>('list')

interface Part extends AsyncDisposable {
  readonly name: string
}
const PART = token<Part>('part')
const OTHER = token<Part>('other')
const THIRD = token<Part>('third')

/** A service that writes down when it is disposed. */
function part(name: string, log: string[], fails?: Error): Part {
  return {
    name,
    [Symbol.asyncDispose]: async () => {
      await setImmediate()
      log.push(name)
      if (fails !== undefined) throw fails
    },
  }
}

describe('a scope', () => {
  it('makes a service once, when it is asked for, with the services of the scope that provides it', () => {
    const scope = Scope.create()
    let made = 0
    scope.provide(TEXT, (services) => `${++made}:${services.get(NUMBER)}`)
    scope.provide(NUMBER, () => 7)
    const child = scope.child()
    child.provide(NUMBER, () => 8)
    expect([made, child.get(TEXT), scope.get(TEXT), made]).toEqual([0, '1:7', '1:7', 1])
    expect([child.get(NUMBER), scope.get(NUMBER)]).toEqual([8, 7])
  })

  it('gives the last of several under one token, or all of them in order', async () => {
    const scope = Scope.create()
    scope.provide(NUMBER, () => 1)
    scope.provide(NUMBER, () => Promise.resolve(2))
    scope.provide(NUMBER, () => 3)
    expect(await scope.getAll(NUMBER)).toEqual([1, 2, 3])
    expect([scope.get(NUMBER), scope.find(TEXT), scope.provides(TEXT)]).toEqual([3, undefined, false])
  })

  it('keeps null like any other service', () => {
    const scope = Scope.create()
    const FLAG = token<number | null>('flag')
    let made = 0
    scope.provide(FLAG, () => (made++ === 0 ? null : made))
    expect([scope.get(FLAG), scope.get(FLAG)]).toEqual([null, null])
  })

  it('waits for what a service needs, and makes it once for all who wait', async () => {
    const scope = Scope.create()
    let made = 0
    scope.provide(NUMBER, async () => {
      await setImmediate()
      return ++made
    })
    scope.provide(TEXT, (services) => `of ${services.get(NUMBER)}`, { needs: [NUMBER] })
    scope.provide(LIST, (services) => ({ of: services.get(TEXT) }), { needs: [TEXT, NUMBER] })
    expect(await Promise.all([scope.ready(LIST), scope.ready(TEXT), scope.ready(NUMBER)])).toEqual([
      { of: 'of 1' },
      'of 1',
      1,
    ])
  })

  it('says which service uses one that is made asynchronously without naming it', async () => {
    const scope = Scope.create()
    scope.provide(NUMBER, () => Promise.resolve(1))
    scope.provide(TEXT, (services) => `of ${services.get(NUMBER)}`, { label: 'the text' })
    const problem = 'the text uses number, which is made asynchronously: name its token in needs'
    await expect(scope.ready(TEXT)).rejects.toMatchObject({ code: 'invalid_config', message: problem })
  })

  it('names who needs what nobody provides', async () => {
    const scope = Scope.create()
    scope.provide(TEXT, (services) => `of ${services.get(NUMBER)}`, { label: 'the text' })
    const message = 'the text needs number, which is not provided by any plugin; add the plugin that brings it'
    await expect(scope.ready(TEXT)).rejects.toMatchObject({ code: 'invalid_config', message })
    expect(() => scope.get(NUMBER)).toThrow('number is not provided by any plugin')
  })

  it.each<[string, (scope: Scope) => void]>([
    ['at once', (scope) => scope.provide(LIST, (services) => ({ of: services.get(TEXT) }))],
    ['by what they need', (scope) => scope.provide(LIST, () => ({ of: '' }), { needs: [TEXT] })],
  ])('names the services of a circle, met %s', async (_, close) => {
    const scope = Scope.create()
    scope.provide(TEXT, (services) => String(services.get(NUMBER)))
    scope.provide(NUMBER, (services) => services.get(LIST).of.length)
    close(scope)
    const error = await scope.ready(LIST).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'invalid_config',
      message: 'services need each other in a circle: list → text → number → list',
    })
  })

  it('lets the error of a factory out as it is, however deep', async () => {
    const scope = Scope.create()
    const failure = new RangeError('of the factory')
    scope.provide(NUMBER, () => {
      throw failure
    })
    scope.provide(TEXT, (services) => String(services.get(NUMBER)))
    scope.provide(LIST, (services) => ({ of: services.get(TEXT) }))
    await expect(scope.ready(LIST)).rejects.toBe(failure)
    scope.provide(PART, () => Promise.reject(failure))
    await expect(scope.ready(PART)).rejects.toBe(failure)
  })
})

describe('disposal', () => {
  it('goes from the last made to the first, one at a time, each once', async () => {
    const log: string[] = []
    const scope = Scope.create()
    scope.provide(PART, () => part('part', log))
    scope.provide(OTHER, (services) => part(`other after ${services.get(PART).name}`, log))
    scope.provide(THIRD, () => part('never made', log))
    scope.provide(LIST, () => ({ of: 'nothing to dispose', [Symbol.dispose]: () => log.push('list') }))
    scope.get(LIST)
    scope.get(OTHER)
    await Promise.all([scope.dispose(), scope.dispose()])
    await scope.dispose()
    expect(log).toEqual(['other after part', 'part', 'list'])
  })

  it('attempts everything and throws one error with all failures', async () => {
    const log: string[] = []
    const scope = Scope.create()
    const [first, second] = [new Error('first'), new Error('second')]
    scope.provide(PART, () => part('part', log, first))
    scope.provide(OTHER, () => part('other', log))
    scope.provide(THIRD, () => ({
      name: 'throws at once',
      [Symbol.asyncDispose]: () => {
        throw second
      },
    }))
    scope.get(PART)
    scope.get(OTHER)
    scope.get(THIRD)
    const error = await scope.dispose().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(AggregateError)
    expect((error as AggregateError).errors).toEqual([second, first])
    expect(log).toEqual(['other', 'part'])
  })

  it('leaves to the scope above what is of that scope, and ends before it', async () => {
    const log: string[] = []
    const scope = Scope.create()
    scope.provide(PART, () => part('above', log))
    const [child, living] = [scope.child(), scope.child()]
    for (const below of [child, living])
      below.provide(OTHER, (services) => part(`below ${services.get(PART).name}`, log))
    child.get(OTHER)
    await child.dispose()
    expect(log.splice(0)).toEqual(['below above'])
    living.get(OTHER)
    await scope.dispose()
    expect(log).toEqual(['below above', 'above'])
  })

  it('finds what was still being made', async () => {
    const log: string[] = []
    const scope = Scope.create()
    scope.provide(PART, async () => {
      await setImmediate()
      return part('late', log)
    })
    scope.provide(OTHER, (services) => services.get(PART))
    expect(() => scope.get(OTHER)).toThrow('made asynchronously')
    await scope.dispose()
    expect(log).toEqual(['late'])
  })

  it('is the end of making', async () => {
    const scope = Scope.create()
    scope.provide(NUMBER, () => 1)
    await scope.dispose()
    expect(() => scope.get(NUMBER)).toThrow(TypeError)
    await expect(scope.ready(NUMBER)).rejects.toThrow(TypeError)
  })
})

/** What decorators do to a class, without needing them in this file. */
function decorate(type: new (...parameters: never[]) => unknown, ...tokens: symbol[]): void {
  tokens.forEach((each, index) => inject(each)(type, undefined, index))
  injectable()(type as new (...parameters: unknown[]) => unknown)
}

class Counted {
  readonly of: string
  static made = 0
  static disposed = 0
  constructor(number: number) {
    this.of = `${++Counted.made}:${number}`
  }
  async [Symbol.asyncDispose](): Promise<void> {
    Counted.disposed++
  }
}
decorate(Counted, NUMBER)

describe('a container of the caller', () => {
  it('has its classes made once, with services of the scope, and is left alone at disposal', async () => {
    const own = rootContainer.createChildContainer()
    own.register(LIST, { useClass: Counted })
    const scope = Scope.create(own)
    scope.provide(NUMBER, () => 7)
    scope.provide(TEXT, (services) => services.get(LIST).of)
    expect([scope.get(TEXT), scope.get(LIST).of, Counted.made]).toEqual(['1:7', '1:7', 1])
    expect([scope.adopts(LIST), scope.adopts(NUMBER), scope.provides(LIST)]).toEqual([true, false, true])
    await scope.dispose()
    expect(Counted.disposed).toBe(0)
    expect(own.isRegistered(NUMBER, true)).toBe(false)
  })

  it('stands beside plugins under one token, and both are found', async () => {
    const own = rootContainer.createChildContainer()
    own.register(LIST, { useClass: Counted }, { lifecycle: Lifecycle.Singleton })
    own.register(LIST, { useValue: { of: 'a value' } })
    const scope = Scope.create(own)
    scope.provide(LIST, () => ({ of: 'a plugin' }))
    scope.provide(NUMBER, () => 1)
    const all = (await scope.getAll(LIST)).map(({ of }) => of.replace(/^\d+:/, 'class of '))
    expect(all).toEqual(['class of 1', 'a value', 'a plugin'])
    expect(scope.get(LIST).of).toBe('a plugin')
  })

  it('gives its classes what is made asynchronously, and may itself register promises', async () => {
    const own = rootContainer.createChildContainer()
    own.register(LIST, { useClass: Counted })
    own.register(TEXT, { useFactory: async () => 'promised' })
    const scope = Scope.create(own)
    scope.provide(NUMBER, async () => {
      await setImmediate()
      return 9
    })
    scope.provide(PART, (services) => part(`${services.get(LIST).of} ${services.get(TEXT)}`, []), {
      needs: [LIST, TEXT],
    })
    expect((await scope.ready(PART)).name).toMatch(/^\d+:9 promised$/)
    expect((await scope.getAll(TEXT)).concat(await scope.ready(TEXT))).toEqual(['promised', 'promised'])
  })

  it('has the errors of services come out unwrapped, also through its classes', async () => {
    const own = rootContainer.createChildContainer()
    own.register(LIST, { useClass: Counted })
    const scope = Scope.create(own)
    const failure = new SandboxError('no_space', 'the disk is full', { path: '/' })
    scope.provide(NUMBER, () => {
      throw failure
    })
    await expect(scope.getAll(LIST)).rejects.toBe(failure)
    const its = new Error('of the caller')
    own.register(TEXT, {
      useFactory: () => {
        throw its
      },
    })
    await expect(scope.ready(TEXT)).rejects.toBe(its)
  })

  it('is told what its classes lack', async () => {
    const own = rootContainer.createChildContainer()
    own.register(LIST, { useClass: Counted })
    const error = await Scope.create(own)
      .getAll(LIST)
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'invalid_config' })
    expect(String(error)).toMatch(/caller's container cannot make list: .*Counted.*Symbol\(number\)/s)
  })

  it('has circles named that go through both sides, and reported that do not', async () => {
    const own = rootContainer.createChildContainer()
    own.register(LIST, { useClass: Counted })
    const scope = Scope.create(own)
    scope.provide(NUMBER, (services) => services.get(LIST).of.length)
    const circle =
      "services need each other in a circle: list of the caller's container → number → list of the caller's container"
    await expect(scope.getAll(LIST)).rejects.toMatchObject({ code: 'invalid_config', message: circle })

    const around = rootContainer.createChildContainer()
    around.register(TEXT, { useFactory: (container) => container.resolve<string>(LIST) })
    around.register(LIST, { useFactory: (container) => ({ of: container.resolve<string>(TEXT) }) })
    const alone = Scope.create(around)
    await expect(alone.getAll(TEXT)).rejects.toMatchObject({ code: 'invalid_config' })
  })
})
