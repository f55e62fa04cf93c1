import type { BlobStore, ExecutionGuard, StateStore } from '@cofferdam/core/plugin'
import { blobStoreCases } from './cases/blob-store/blob-store-cases.js'
import { guardCases } from './cases/guard/guard-cases.js'
import { stateStoreCases } from './cases/state-store/state-store-cases.js'
import type { ConformanceCase } from './conformance-case.js'
import type { OpenStore } from './open-store.js'

/** Each profile's contract. */
export interface StoreContracts {
  readonly 'state-store': StateStore
  readonly 'blob-store': BlobStore
  readonly guard: ExecutionGuard
}

/** What a store has to offer to be examined: for each case, a storage of its own that is empty. */
export interface StoreTarget<P extends keyof StoreContracts> {
  readonly profile: P
  /** Shown in reports. */
  readonly name: string
  setUp(): Promise<StoreStorage<StoreContracts[P]>>
}

export interface StoreStorage<T> {
  /**
   * Another object on the same storage, as another host would make it. A store that cannot be shared gives the same object
   * each time. The suite disposes of all of them.
   */
  open(): T | Promise<T>
  /** Removes the storage. Called last, also after a failure. */
  tearDown(): Promise<void>
}

/** The two functions of a test runner that the suite needs; those of vitest and of node:test fit. */
export interface TestRunner {
  describe(name: string, define: () => void): unknown
  it(name: string, run: () => Promise<void>): unknown
}

/**
 * Defines one test for each clause of the store's contract:
 *
 *     defineStoreSuite({ describe, it }, {
 *       profile: 'state-store',
 *       name: 'acme',
 *       setUp: async () => ({ open: () => new AcmeStateStore(…), tearDown: async () => {} }),
 *     })
 */
export function defineStoreSuite<P extends keyof StoreContracts>(runner: TestRunner, target: StoreTarget<P>): void {
  runner.describe(`${target.name}: ${target.profile}`, () => {
    for (const each of casesOf(target.profile)) {
      runner.it(`${each.clause} ${each.id}: ${each.title}`, () => runStoreCase(target, each))
    }
  })
}

/** Runs one case on a fresh storage. Fails with what the case found; failures to clean up count as well. */
export async function runStoreCase<P extends keyof StoreContracts>(
  target: StoreTarget<P>,
  each: ConformanceCase<OpenStore<StoreContracts[P]>>,
): Promise<void> {
  const storage = await target.setUp()
  const opened = new Set<StoreContracts[P]>()
  const failures: unknown[] = []
  const attempt = async (step: () => Promise<void>): Promise<void> => {
    try {
      await step()
    } catch (error) {
      failures.push(error)
    }
  }
  const open = async (): Promise<StoreContracts[P]> => {
    const store = await storage.open()
    opened.add(store)
    return store
  }
  await attempt(() => each.run({ open }))
  for (const store of opened) await attempt(async () => store[Symbol.asyncDispose]())
  await attempt(() => storage.tearDown())
  if (failures.length === 1) throw failures[0]
  if (failures.length > 1) throw new AggregateError(failures, `${each.id} failed, and so did its cleanup`)
}

function casesOf<P extends keyof StoreContracts>(
  profile: P,
): ReadonlyArray<ConformanceCase<OpenStore<StoreContracts[P]>>> {
  const cases: { readonly [K in keyof StoreContracts]: ReadonlyArray<ConformanceCase<OpenStore<StoreContracts[K]>>> } =
    {
      'state-store': stateStoreCases,
      'blob-store': blobStoreCases,
      guard: guardCases,
    }
  return cases[profile]
}
