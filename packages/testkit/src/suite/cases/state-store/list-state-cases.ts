import assert from 'node:assert/strict'
import type { StateStore } from '@cofferdam/core/plugin'
import { expectCode } from '../../expect-code.js'
import type { CaseRow } from '../../open-store.js'

/** In order of their UTF-8 bytes, which is not the order of JavaScript's `<`. */
const ordered = ['A', 'a', 'a ', 'a/1', 'a/10', 'a/2', 'a/Z', 'aa', 'b', 'é', '\uffff', '\u{1f600}']

export const listStateRows: ReadonlyArray<CaseRow<StateStore>> = [
  [
    'STATE-9',
    'state.list.order',
    'lists keys in order of their UTF-8 bytes, by prefix, without deleted ones',
    async ({ open }) => {
      const store = await open()
      assert.deepEqual(await store.list(''), { keys: [] })
      for (const key of [...ordered].reverse()) await store.put(key, key)
      await store.put('a/gone', 1)
      await store.delete('a/gone')
      const seen = await open()
      assert.deepEqual((await seen.list('')).keys, ordered)
      assert.deepEqual((await seen.list('a/')).keys, ['a/1', 'a/10', 'a/2', 'a/Z'])
      assert.deepEqual(await seen.list('nothing'), { keys: [] })
    },
  ],
  [
    'STATE-9',
    'state.list.pages',
    'gives every key once, a page at a time, also when keys come and go between pages',
    async ({ open }) => {
      const store = await open()
      for (const key of ordered) await store.put(key, key)
      for (const limit of [1, 5, ordered.length, 1000]) assert.deepEqual(await listAll(store, limit), ordered)
      const first = await store.list('a', { limit: 2 })
      assert.deepEqual(first.keys, ['a', 'a '])
      assert.ok(first.cursor !== undefined)
      await store.delete('a ')
      await store.put('a!', 'new')
      const rest = await store.list('a', { cursor: first.cursor })
      assert.deepEqual(rest, { keys: ['a!', 'a/1', 'a/10', 'a/2', 'a/Z', 'aa'] })
    },
  ],
  [
    'STATE-9',
    'state.list.default',
    'gives at most 100 keys unless asked for more',
    async ({ open }) => {
      const store = await open()
      await Promise.all(Array.from({ length: 105 }, (_, index) => store.put(`k${index}`, index)))
      const page = await store.list('')
      assert.equal(page.keys.length, 100)
      assert.ok(page.cursor !== undefined)
      assert.equal((await store.list('', { limit: 1000 })).keys.length, 105)
    },
  ],
  [
    'STATE-9',
    'state.list.bad',
    'refuses limits and cursors that are none',
    async ({ open }) => {
      const store = await open()
      for (const limit of [0, -1, 1001, 1.5, NaN]) await expectCode(store.list('', { limit }), 'invalid_argument')
      await expectCode(store.list('', { cursor: '%' }), 'invalid_argument')
    },
  ],
]

async function listAll(store: StateStore, limit: number): Promise<string[]> {
  const keys: string[] = []
  let cursor: string | undefined
  do {
    const page = await store.list('', { limit, ...(cursor === undefined ? {} : { cursor }) })
    assert.ok(page.keys.length <= limit)
    keys.push(...page.keys)
    cursor = page.cursor
  } while (cursor !== undefined)
  return keys
}
