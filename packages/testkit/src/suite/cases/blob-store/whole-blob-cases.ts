import assert from 'node:assert/strict'
import type { BlobStore } from '@cofferdam/core/plugin'
import { expectCode } from '../../expect-code.js'
import type { CaseRow } from '../../open-store.js'
import { bytesOf, keysOf, readAll, readBlob, streamOf } from './blob-bytes.js'

const sizes = [0, 1, 65_535, 65_536, 65_537, 1_048_579]

export const wholeBlobRows: ReadonlyArray<CaseRow<BlobStore>> = [
  [
    'BLOB-1',
    'blob.put.sources',
    'gives back what was put, from bytes, a stream and an iterable, at every size',
    async ({ open }) => {
      const [store, other] = [await open(), await open()]
      for (const sizeBytes of sizes) {
        const bytes = bytesOf(sizeBytes, sizeBytes)
        const pieces = async function* (): AsyncGenerator<Uint8Array> {
          for (let at = 0; at < bytes.length; at += 1000) yield bytes.slice(at, at + 1000)
        }
        await store.put(`${sizeBytes}/bytes`, bytes, { sizeBytes })
        await store.put(`${sizeBytes}/stream`, streamOf(bytes, 300_000).stream)
        await store.put(`${sizeBytes}/iterable`, pieces(), { sizeBytes })
        for (const key of await keysOf(store, `${sizeBytes}/`)) {
          assert.ok(Buffer.from(await readBlob(other, key)).equals(bytes), key)
          assert.equal((await other.head(key))?.sizeBytes, sizeBytes)
        }
        assert.equal((await keysOf(store, `${sizeBytes}/`)).length, 3)
      }
    },
  ],
  [
    'BLOB-1',
    'blob.put.copies',
    'keeps what was put when the caller changes its bytes afterwards',
    async ({ open }) => {
      const store = await open()
      const bytes = bytesOf(1000, 1)
      await store.put('a', bytes)
      const expected = bytes.slice()
      bytes.fill(0)
      assert.deepEqual(await readBlob(store, 'a'), expected)
    },
  ],
  [
    'BLOB-2',
    'blob.put.replace',
    'replaces a blob as a whole; of many at once one is there, whole',
    async ({ open }) => {
      const [store, other] = [await open(), await open()]
      await store.put('a', bytesOf(100_000, 1))
      await store.put('a', bytesOf(10, 2))
      assert.deepEqual(await readBlob(other, 'a'), bytesOf(10, 2))
      const candidates = Array.from({ length: 8 }, (_, seed) => bytesOf(50_000 + seed, seed))
      await Promise.all(candidates.map((bytes, index) => (index % 2 === 0 ? store : other).put('a', bytes)))
      const result = Buffer.from(await readBlob(store, 'a'))
      assert.ok(candidates.some((bytes) => result.equals(bytes)))
    },
  ],
  [
    'BLOB-3',
    'blob.get.range',
    'reads any range, or says that it cannot',
    async ({ open }) => {
      const store = await open()
      const bytes = bytesOf(300_000, 3)
      await store.put('a', bytes)
      if (!store.features.ranges) {
        await expectCode(store.get('a', { range: { offset: 1 } }), 'unsupported_feature')
        return
      }
      const ranges = [{}, { offset: 0 }, { offset: 299_999 }, { offset: 300_000 }, { offset: 400_000 }, { length: 0 }]
      for (const range of [...ranges, { offset: 5, length: 7 }, { offset: 65_530, length: 200_000 }, { length: 1e9 }]) {
        const { offset = 0, length = Infinity } = range as { offset?: number; length?: number }
        const expected = Buffer.from(bytes.subarray(offset, Math.min(offset + length, bytes.length)))
        assert.ok(expected.equals(await readAll(await store.get('a', { range }))), JSON.stringify(range))
      }
      for (const range of [{ offset: -1 }, { length: -1 }, { offset: 0.5 }, { length: NaN }]) {
        await expectCode(store.get('a', { range }), 'invalid_argument')
      }
    },
  ],
  [
    'BLOB-4',
    'blob.get.absent',
    'tells absence by blob_not_found, undefined and an empty list',
    async ({ open }) => {
      const store = await open()
      assert.deepEqual(await expectCode(store.get('a/b'), 'blob_not_found'), { key: 'a/b' })
      assert.equal(await store.head('a/b'), undefined)
      assert.deepEqual(await keysOf(store, ''), [])
    },
  ],
  [
    'BLOB-5',
    'blob.delete.idempotent',
    'deletes ten times, one after the other and at once',
    async ({ open }) => {
      const [store, other] = [await open(), await open()]
      await store.put('a/b/c', bytesOf(10, 1))
      await store.put('a/b/d', bytesOf(11, 1))
      for (let round = 0; round < 10; round++) await store.delete('a/b/c')
      await Promise.all(Array.from({ length: 10 }, (_, round) => (round % 2 === 0 ? store : other).delete('a/b/d')))
      assert.equal(await other.head('a/b/c'), undefined)
      await expectCode(store.get('a/b/d'), 'blob_not_found')
      await store.put('a/b/c', bytesOf(12, 1))
      assert.equal((await other.head('a/b/c'))?.sizeBytes, 12)
    },
  ],
  [
    'BLOB-5',
    'blob.delete.beside-put',
    'keeps what is put while its neighbours are deleted',
    async ({ open }) => {
      const [store, other] = [await open(), await open()]
      for (let round = 0; round < 30; round++) {
        await store.put('deep/er/old', bytesOf(5, round))
        await Promise.all([other.delete('deep/er/old'), store.put(`deep/er/new`, bytesOf(9, round))])
        assert.deepEqual(await readBlob(store, 'deep/er/new'), bytesOf(9, round))
        await store.delete('deep/er/new')
      }
    },
  ],
  [
    'BLOB-6',
    'blob.get.lazy',
    'takes and gives bytes no faster than the other side does, and ends a stream that is cancelled',
    async ({ open }) => {
      const store = await open()
      const bytes = bytesOf(4_000_000, 6)
      const source = streamOf(bytes, 100_000)
      await store.put('a', source.stream)
      const reader = (await store.get('a')).getReader()
      const first = await reader.read()
      assert.ok(first.value !== undefined && first.value.length < bytes.length, 'the whole blob came at once')
      await reader.cancel()
      await store.delete('a')
      assert.equal(await store.head('a'), undefined)
    },
  ],
]
