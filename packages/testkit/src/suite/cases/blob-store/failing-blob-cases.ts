import assert from 'node:assert/strict'
import type { BlobStore } from '@cofferdam/core/plugin'
import { expectCode } from '../../expect-code.js'
import type { CaseRow } from '../../open-store.js'
import { bytesOf, keysOf, readBlob } from './blob-bytes.js'

export const failingBlobRows: ReadonlyArray<CaseRow<BlobStore>> = [
  [
    'BLOB-9',
    'blob.put.invisible',
    'shows nothing of a put that has not ended, and the old blob until then',
    async ({ open }) => {
      const [store, other] = [await open(), await open()]
      await store.put('old', bytesOf(5, 1))
      for (const key of ['new', 'old']) {
        const source = async function* (): AsyncGenerator<Uint8Array> {
          yield bytesOf(300_000, 2)
          assert.deepEqual(await keysOf(other, ''), ['old'])
          assert.equal(await other.head('new'), undefined)
          assert.deepEqual(await readBlob(other, 'old'), bytesOf(5, 1))
          yield bytesOf(3, 3)
        }
        await store.put(key, source())
        await store.delete('new')
      }
      assert.equal((await other.head('old'))?.sizeBytes, 300_003)
    },
  ],
  [
    'BLOB-9',
    'blob.put.source-fails',
    'leaves things as they were when the source fails, with its error',
    async ({ open }) => {
      const store = await open()
      await store.put('a', bytesOf(5, 1))
      const failure = new RangeError('the source broke')
      const broken = async function* (): AsyncGenerator<Uint8Array> {
        yield bytesOf(400_000, 2)
        throw failure
      }
      for (const key of ['a', 'b']) await assert.rejects(store.put(key, broken()), failure)
      await expectCode(store.put('b', ['no bytes'] as unknown as Uint8Array), 'invalid_argument')
      assert.deepEqual(await keysOf(store, ''), ['a'])
      assert.deepEqual(await readBlob(store, 'a'), bytesOf(5, 1))
    },
  ],
  [
    'BLOB-10',
    'blob.put.size',
    'refuses another length than was said, and ends the source',
    async ({ open }) => {
      const store = await open()
      for (const sizeBytes of [9, 11]) {
        await expectCode(store.put('a', bytesOf(10, 1), { sizeBytes }), 'invalid_argument')
      }
      let hasEnded = false
      const endless = async function* (): AsyncGenerator<Uint8Array> {
        try {
          for (;;) yield bytesOf(1000, 1)
        } finally {
          hasEnded = true
        }
      }
      await expectCode(store.put('a', endless(), { sizeBytes: 10_500 }), 'invalid_argument')
      assert.ok(hasEnded, 'the source was left open')
      await expectCode(store.put('a', bytesOf(1, 1), { sizeBytes: -1 }), 'invalid_argument')
      assert.deepEqual(await keysOf(store, ''), [])
    },
  ],
  [
    'BLOB-11',
    'blob.put.abort',
    'stops when the signal fires, also while the source says nothing, and leaves nothing',
    async ({ open }) => {
      const store = await open()
      const controller = new AbortController()
      let wasCancelled = false
      const silent = new ReadableStream<Uint8Array>({
        start: (stream) => stream.enqueue(bytesOf(300_000, 1)),
        // Asked for more, it says nothing ever again.
        pull: async (stream) => {
          if (stream.desiredSize === 1) controller.abort()
          await new Promise(() => undefined)
        },
        cancel: () => {
          wasCancelled = true
        },
      })
      await expectCode(store.put('a', silent, { signal: controller.signal }), 'aborted')
      await expectCode(store.put('a', bytesOf(1, 1), { signal: AbortSignal.abort() }), 'aborted')
      assert.deepEqual(await keysOf(store, ''), [])
      assert.ok(wasCancelled || silent.locked, 'the source was left as it was')
    },
  ],
  [
    'BLOB-11',
    'blob.get.abort',
    'ends a stream when the signal fires',
    async ({ open }) => {
      const store = await open()
      await store.put('a', bytesOf(3_000_000, 1))
      const controller = new AbortController()
      const reader = (await store.get('a', { signal: controller.signal })).getReader()
      await reader.read()
      controller.abort()
      await expectCode(drain(reader), 'aborted')
      await expectCode(store.get('a', { signal: controller.signal }), 'aborted')
    },
  ],
  [
    'BLOB-12',
    'blob.dispose',
    'is disposed of twice without harm, and answers nothing after that',
    async ({ open }) => {
      const store = await open()
      await store[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
      await expectCode(store.head('a'), 'store_unavailable')
      await expectCode(store.put('a', new Uint8Array(1)), 'store_unavailable')
    },
  ],
]

async function drain(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  while (!(await reader.read()).done);
}
