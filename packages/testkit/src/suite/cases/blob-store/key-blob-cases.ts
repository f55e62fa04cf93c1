import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { BlobStore } from '@cofferdam/core/plugin'
import { expectCode } from '../../expect-code.js'
import type { CaseRow } from '../../open-store.js'
import { bytesOf, keysOf, readBlob } from './blob-bytes.js'

const long = 'x'.repeat(100)

/** In order of their bytes. Each is a trap for one who maps keys to paths. */
const ordered = [
  '-',
  '...',
  '=/=',
  'A',
  'a',
  'a-b',
  'a.b',
  'a/.../b',
  'a/b',
  'a/b/c',
  'a0',
  'aB',
  'ab',
  'con',
  long,
  `${long}-1`,
  `${long}../y`,
  `${long}.y`,
  `${long}/1`,
  `${long}/2`,
  `${long}1`,
  'y'.repeat(512),
]

const badKeys: readonly unknown[] = [
  '',
  '/',
  '/a',
  'a/',
  'a//b',
  '.',
  '..',
  'a/../b',
  'a/.',
  'a b',
  'a,b',
  'é',
  'a\0',
  'a\\b',
  'a\n',
  'x'.repeat(513),
  7,
]

const component: fc.Arbitrary<string> = fc
  .string({ unit: fc.constantFrom(...'aB.-_=0'), minLength: 1, maxLength: 6 })
  .filter((text) => text !== '.' && text !== '..')

export const keyBlobRows: ReadonlyArray<CaseRow<BlobStore>> = [
  [
    'BLOB-7',
    'blob.key.order',
    'lists keys in order of their bytes, with size and time, by any prefix',
    async ({ open }) => {
      const store = await open()
      for (const [index, key] of [...ordered.entries()].reverse()) await store.put(key, bytesOf(index, index))
      const seen = await open()
      assert.deepEqual(await keysOf(seen, ''), ordered)
      for (const prefix of ['a', 'a/', 'a/b', 'x', long, `${long}/`, `${long}.`, 'y', 'nothing']) {
        assert.deepEqual(
          await keysOf(seen, prefix),
          ordered.filter((key) => key.startsWith(prefix)),
        )
      }
      for await (const { key, sizeBytes, modifiedAtMs } of seen.list('')) {
        assert.equal(sizeBytes, ordered.indexOf(key))
        assert.deepEqual(await seen.head(key), { sizeBytes, modifiedAtMs })
        assert.ok(Number.isFinite(modifiedAtMs) && modifiedAtMs > 0)
      }
      for (const [index, key] of ordered.entries()) assert.deepEqual(await readBlob(seen, key), bytesOf(index, index))
    },
  ],
  [
    'BLOB-7',
    'blob.key.model',
    'keeps any set of keys apart and in order',
    async ({ open }) => {
      const store = await open()
      const keys = fc.array(component, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'))
      const property = fc.asyncProperty(fc.uniqueArray(keys, { maxLength: 12 }), async (some) => {
        for (const key of some) await store.put(key, Buffer.from(key))
        assert.deepEqual(await keysOf(store, ''), [...some].sort())
        for (const key of some) assert.equal(Buffer.from(await readBlob(store, key)).toString(), key)
        for (const key of some) await store.delete(key)
      })
      await fc.assert(property, { numRuns: 10 })
    },
  ],
  [
    'BLOB-8',
    'blob.key.bad',
    'refuses keys that are none',
    async ({ open }) => {
      const store = await open()
      for (const key of badKeys as readonly string[]) {
        await expectCode(store.put(key, new Uint8Array(1)), 'invalid_argument')
        await expectCode(store.get(key), 'invalid_argument')
        await expectCode(store.head(key), 'invalid_argument')
        await expectCode(store.delete(key), 'invalid_argument')
      }
      await expectCode(keysOf(store, '../'.repeat(200)), 'invalid_argument')
      assert.deepEqual(await keysOf(store, ''), [])
    },
  ],
]
