import assert from 'node:assert/strict'
import type { StateStore } from '@cofferdam/core/plugin'
import type { CaseRow } from '../../open-store.js'

export const concurrentStateRows: ReadonlyArray<CaseRow<StateStore>> = [
  [
    'STATE-10',
    'state.cas.one-wins',
    'lets exactly one of many writers with the same condition succeed',
    async ({ open }) => {
      const stores = [await open(), await open(), await open()]
      let version: string | null = null
      for (let round = 0; round < 20; round++) {
        const condition: string | null = version
        const writes: Array<Promise<{ readonly version: string }>> = Array.from({ length: 12 }, (_, writer) =>
          (stores[writer % 3] as StateStore).put('a', { round, writer }, { ifVersion: condition }),
        )
        const results = await Promise.allSettled(writes)
        const won = results.flatMap((result, writer) =>
          result.status === 'fulfilled' ? [{ ...result.value, writer }] : [],
        )
        assert.equal(won.length, 1)
        version = won[0]?.version ?? null
        assert.deepEqual(await stores[1]?.get('a'), { value: { round, writer: won[0]?.writer }, version })
      }
    },
  ],
  [
    'STATE-10',
    'state.cas.no-lost-update',
    'loses no update of many who read, add one and write',
    async ({ open }) => {
      const stores = [await open(), await open(), await open(), await open()]
      await stores[0]?.put('n', 0)
      await Promise.all(stores.map((store) => addOften(store, 25)))
      assert.equal((await stores[0]?.get('n'))?.value, 100)
    },
  ],
  [
    'STATE-10',
    'state.put.order',
    'shows the last of several writes of one caller, and never an older one after a newer',
    async ({ open }) => {
      const [writer, reader] = [await open(), await open()]
      let isDone = false
      const watching = (async () => {
        for (let highest = 0; !isDone;) {
          const seen = ((await reader.get('a'))?.value ?? 0) as number
          assert.ok(seen >= highest, `saw ${seen} after ${highest}`)
          highest = seen
        }
      })()
      try {
        for (let value = 1; value <= 60; value++) await writer.put('a', value)
      } finally {
        isDone = true
        await watching
      }
      assert.equal((await reader.get('a'))?.value, 60)
    },
  ],
]

async function addOften(store: StateStore, times: number): Promise<void> {
  for (let done = 0; done < times;) {
    const entry = await store.get('n')
    assert.ok(entry !== undefined)
    try {
      await store.put('n', (entry.value as number) + 1, { ifVersion: entry.version })
      done++
    } catch (error) {
      if ((error as { code?: string }).code !== 'state_conflict') throw error
    }
  }
}
