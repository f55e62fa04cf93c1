import assert from 'node:assert/strict'
import type { JsonValue, StateStore } from '@cofferdam/core/plugin'
import { expectCode } from '../../expect-code.js'
import type { CaseRow } from '../../open-store.js'

const MAX_VALUE_BYTES = 1024 * 1024

const values: readonly JsonValue[] = [
  null,
  false,
  0,
  -1.5e-300,
  Number.MAX_SAFE_INTEGER,
  '',
  'line\nbreak\u2028\u0000\u007f "quoted" \\',
  'half a pair: \ud83d and \udc4d',
  [],
  {},
  [[[]], {}, [null]],
  JSON.parse('{"__proto__": {"polluted": true}, "constructor": null, "": 1, "\\ud800": 2}') as JsonValue,
  JSON.parse(`${'['.repeat(200)}7${']'.repeat(200)}`) as JsonValue,
  'ü€😀'.repeat(1000),
]

const keys: readonly string[] = [
  'a',
  'A',
  'a/b',
  '../a',
  '.',
  '/',
  ' ',
  'é',
  'e\u0301',
  '\u{1f600}',
  'con',
  'x'.repeat(1024),
  '😀'.repeat(256),
  '__proto__',
]

/** Each is refused by put, get and delete alike. */
const badKeys: readonly unknown[] = ['', 'a\0b', '\ud800', 'x'.repeat(1025), '😀'.repeat(257), undefined, 7]

const badValues: readonly unknown[] = [
  undefined,
  NaN,
  Infinity,
  1n,
  () => 1,
  Symbol('s'),
  new Date(0),
  new Map(),
  new Uint8Array(1),
  { a: undefined },
  [undefined],
  'x'.repeat(MAX_VALUE_BYTES - 1),
]

export const singleStateRows: ReadonlyArray<CaseRow<StateStore>> = [
  [
    'STATE-1',
    'state.get.absent',
    'says undefined for what was never written',
    async ({ open }) => {
      const store = await open()
      assert.equal(await store.get('a'), undefined)
      await store.put('b', 1)
      assert.equal(await store.get('a'), undefined)
    },
  ],
  [
    'STATE-2',
    'state.put.values',
    'gives back every JSON value as it was, to others too; −0 is 0',
    async ({ open }) => {
      const [writer, reader] = [await open(), await open()]
      for (const [index, value] of values.entries()) {
        const { version } = await writer.put(`k${index}`, value)
        const entry = await reader.get(`k${index}`)
        assert.equal(JSON.stringify(entry?.value), JSON.stringify(value))
        assert.equal(entry?.version, version)
      }
      await writer.put('zero', [-0])
      assert.ok(Object.is(((await reader.get('zero'))?.value as number[])[0], 0))
      assert.equal(({} as { polluted?: boolean }).polluted, undefined)
    },
  ],
  [
    'STATE-2',
    'state.put.copies',
    'keeps a copy: neither the value that was put nor the one that was got is shared',
    async ({ open }) => {
      const store = await open()
      const value = { list: [1] }
      await store.put('a', value)
      value.list.push(2)
      const got = (await store.get('a'))?.value as { list: number[] }
      assert.deepEqual(got, { list: [1] })
      got.list.push(3)
      assert.deepEqual((await store.get('a'))?.value, { list: [1] })
    },
  ],
  [
    'STATE-3',
    'state.version.differs',
    'gives a new version at every write, also of the same value and after a delete',
    async ({ open }) => {
      const store = await open()
      const versions = new Set<string>()
      for (let round = 0; round < 40; round++) {
        versions.add((await store.put('a', 'same')).version)
        if (round % 3 === 0) await store.delete('a')
      }
      assert.equal(versions.size, 40)
    },
  ],
  [
    'STATE-4',
    'state.cas.absent',
    'writes with ifVersion null only where nothing is, also after a delete',
    async ({ open }) => {
      const store = await open()
      const { version } = await store.put('a', 1, { ifVersion: null })
      const details = await expectCode(store.put('a', 2, { ifVersion: null }), 'state_conflict')
      assert.deepEqual(details, { key: 'a', expected: null, actual: version })
      assert.deepEqual(await store.get('a'), { value: 1, version })
      await store.delete('a')
      await store.put('a', 3, { ifVersion: null })
      assert.equal((await store.get('a'))?.value, 3)
    },
  ],
  [
    'STATE-4',
    'state.cas.stale',
    'refuses a version that is no longer there, and changes nothing',
    async ({ open }) => {
      const [store, other] = [await open(), await open()]
      const first = await store.put('a', 1)
      const second = await other.put('a', 2, { ifVersion: first.version })
      const details = await expectCode(store.put('a', 3, { ifVersion: first.version }), 'state_conflict')
      assert.deepEqual(details, { key: 'a', expected: first.version, actual: second.version })
      await expectCode(store.put('a', 3, { ifVersion: 'no such version' }), 'state_conflict')
      await expectCode(store.put('b', 3, { ifVersion: first.version }), 'state_conflict')
      assert.deepEqual(await store.get('a'), { value: 2, version: second.version })
      assert.equal(await store.get('b'), undefined)
    },
  ],
  [
    'STATE-4',
    'state.cas.after-delete',
    'does not let a version from before a delete through, whatever was written since',
    async ({ open }) => {
      const [store, late] = [await open(), await open()]
      const { version } = await store.put('a', 1)
      assert.equal((await late.get('a'))?.version, version)
      await store.delete('a')
      await expectCode(late.put('a', 'late', { ifVersion: version }), 'state_conflict')
      assert.equal(await store.get('a'), undefined)
      await store.put('a', 1)
      await expectCode(late.put('a', 'late', { ifVersion: version }), 'state_conflict')
      await expectCode(late.delete('a', { ifVersion: version }), 'state_conflict')
      assert.equal((await store.get('a'))?.value, 1)
    },
  ],
  [
    'STATE-5',
    'state.delete.idempotent',
    'deletes ten times, one after the other and at once',
    async ({ open }) => {
      const [store, other] = [await open(), await open()]
      await store.put('a', 1)
      for (let round = 0; round < 10; round++) await store.delete('a')
      await store.put('a', 2)
      await Promise.all(Array.from({ length: 10 }, (_, round) => (round % 2 === 0 ? store : other).delete('a')))
      assert.equal(await store.get('a'), undefined)
      await store.delete('never written')
    },
  ],
  [
    'STATE-5',
    'state.delete.condition',
    'deletes a named version only while it is there',
    async ({ open }) => {
      const store = await open()
      const first = await store.put('a', 1)
      const second = await store.put('a', 2)
      await expectCode(store.delete('a', { ifVersion: first.version }), 'state_conflict')
      await expectCode(store.delete('a', { ifVersion: null }), 'state_conflict')
      assert.equal((await store.get('a'))?.value, 2)
      await store.delete('a', { ifVersion: second.version })
      await expectCode(store.delete('a', { ifVersion: second.version }), 'state_conflict')
      await store.delete('a', { ifVersion: null })
      assert.equal(await store.get('a'), undefined)
    },
  ],
  [
    'STATE-6',
    'state.key.any',
    'takes any key up to 1 024 bytes and keeps them apart',
    async ({ open }) => {
      const store = await open()
      for (const key of keys) await store.put(key, `value of ${key}`)
      for (const key of keys) assert.equal((await store.get(key))?.value, `value of ${key}`)
    },
  ],
  [
    'STATE-6',
    'state.argument.bad',
    'refuses keys and values that it cannot take, and writes nothing',
    async ({ open }) => {
      const store = await open()
      for (const key of badKeys as readonly string[]) {
        await expectCode(store.get(key), 'invalid_argument')
        await expectCode(store.put(key, 1), 'invalid_argument')
        await expectCode(store.delete(key), 'invalid_argument')
      }
      for (const value of badValues as readonly JsonValue[]) await expectCode(store.put('a', value), 'invalid_argument')
      assert.equal(await store.get('a'), undefined)
      const largest = 'x'.repeat(MAX_VALUE_BYTES - 2)
      await store.put('a', largest)
      assert.equal((await store.get('a'))?.value, largest)
    },
  ],
  [
    'STATE-7',
    'state.abort.before',
    'does nothing when the signal has fired',
    async ({ open }) => {
      const store = await open()
      await store.put('a', 1)
      const signal = AbortSignal.abort()
      await expectCode(store.get('a', { signal }), 'aborted')
      await expectCode(store.put('a', 2, { signal }), 'aborted')
      await expectCode(store.delete('a', { signal }), 'aborted')
      await expectCode(store.list('', { signal }), 'aborted')
      assert.equal((await store.get('a'))?.value, 1)
    },
  ],
  [
    'STATE-8',
    'state.dispose',
    'is disposed of twice without harm, and answers nothing after that',
    async ({ open }) => {
      const store = await open()
      await store.put('a', 1)
      await store[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
      await expectCode(store.get('a'), 'store_unavailable')
      await expectCode(store.put('a', 2), 'store_unavailable')
    },
  ],
]
