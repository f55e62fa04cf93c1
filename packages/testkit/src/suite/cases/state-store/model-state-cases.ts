import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { JsonValue, StateStore } from '@cofferdam/core/plugin'
import type { CaseRow } from '../../open-store.js'

interface Step {
  readonly action: 'get' | 'put' | 'delete' | 'list'
  readonly store: number
  readonly key: string
  readonly condition: 'none' | 'absent' | 'current' | 'older'
  readonly value: unknown
}

const step: fc.Arbitrary<Step> = fc.record({
  action: fc.constantFrom('get', 'put', 'put', 'delete', 'list'),
  store: fc.nat(1),
  key: fc.constantFrom('a', 'b', 'ab', '\u{10ffff}'),
  condition: fc.constantFrom('none', 'absent', 'current', 'older'),
  value: fc.jsonValue({ maxDepth: 3 }),
})

/** What a store must be indistinguishable from, one call after the other. */
class StateModel {
  readonly entries = new Map<string, { readonly text: string; readonly version: string }>()
  readonly older = new Map<string, string>()

  /** The `ifVersion` of a step; undefined: none. */
  conditionOf({ condition, key }: Step): string | null | undefined {
    if (condition === 'none') return undefined
    if (condition === 'absent') return null
    if (condition === 'older') return this.older.get(key) ?? 'never'
    return this.versionOf(key)
  }

  versionOf(key: string): string | null {
    return this.entries.get(key)?.version ?? null
  }

  remove(key: string): void {
    const entry = this.entries.get(key)
    if (entry !== undefined) this.older.set(key, entry.version)
    this.entries.delete(key)
  }

  keysFrom(prefix: string): string[] {
    const keys = [...this.entries.keys()].filter((key) => key.startsWith(prefix))
    return keys.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  }
}

export const modelStateRows: ReadonlyArray<CaseRow<StateStore>> = [
  [
    'STATE-11',
    'state.model',
    'behaves like a map with versions under any sequence of calls from two sides',
    async ({ open }) => {
      const stores = [await open(), await open()]
      const property = fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (steps) => {
        for (const store of stores) for (const key of (await store.list('')).keys) await store.delete(key)
        const model = new StateModel()
        for (const each of steps) await perform(each, stores[each.store] as StateStore, model)
      })
      // A failure prints its seed.
      await fc.assert(property, { numRuns: 15 })
    },
  ],
]

async function perform(each: Step, store: StateStore, model: StateModel): Promise<void> {
  const { action, key } = each
  if (action === 'get') return assertEntry(await store.get(key), model.entries.get(key))
  if (action === 'list') return assert.deepEqual((await store.list(key)).keys, model.keysFrom(key))
  const ifVersion = model.conditionOf(each)
  const fits = ifVersion === undefined || ifVersion === model.versionOf(key)
  const options = ifVersion === undefined ? {} : { ifVersion }
  try {
    if (action === 'delete') await store.delete(key, options)
    else {
      const { version } = await store.put(key, each.value as JsonValue, options)
      assert.notEqual(version, model.versionOf(key))
      if (fits) {
        model.remove(key)
        model.entries.set(key, { text: JSON.stringify(each.value), version })
      }
    }
    assert.ok(fits, `${action} of ${key} succeeded against its condition`)
    if (action === 'delete') model.remove(key)
  } catch (error) {
    if ((error as { code?: string }).code !== 'state_conflict') throw error
    assert.ok(!fits, `${action} of ${key} was refused though its condition held`)
  }
}

function assertEntry(
  actual: { readonly value: JsonValue; readonly version: string } | undefined,
  expected: { readonly text: string; readonly version: string } | undefined,
): void {
  assert.equal(actual === undefined, expected === undefined)
  assert.equal(actual?.version, expected?.version)
  if (actual !== undefined) assert.equal(JSON.stringify(actual.value), expected?.text)
}
