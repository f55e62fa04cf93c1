import assert from 'node:assert/strict'
import type { ExecutionGuard, Lease } from '@cofferdam/core/plugin'
import { expectCode } from '../../expect-code.js'
import { casesFrom } from '../../open-store.js'
import type { StoreCase } from '../../open-store.js'

/** The contract of {@link ExecutionGuard}, clause by clause. */
export const guardCases: ReadonlyArray<StoreCase<ExecutionGuard>> = casesFrom<ExecutionGuard>('guard', [
  [
    'GUARD-1',
    'guard.excludes',
    'gives a key to one at a time, and other keys meanwhile',
    async ({ open }) => {
      const [guard, other] = [await open(), await open()]
      const lease = await guard.enter('a')
      assert.equal(lease.key, 'a')
      assert.ok(lease.held())
      const details = await expectCode(other.enter('a', { waitMs: 0 }), 'lease_timeout')
      assert.deepEqual(details, { key: 'a', waitMs: 0 })
      await expectCode(guard.enter('a', { waitMs: 0 }), 'lease_timeout')
      const beside = await other.enter('b', { waitMs: 0 })
      assert.ok(lease.held() && beside.held())
      await lease.release()
      assert.ok((await other.enter('a', { waitMs: 0 })).held())
    },
  ],
  [
    'GUARD-1',
    'guard.overlap',
    'lets no two in at once under load, and everybody in',
    async ({ open }) => {
      const guards = [await open(), await open(), await open()]
      let inside = 0
      let entered = 0
      const visit = async (guard: ExecutionGuard): Promise<void> => {
        for (let round = 0; round < 6; round++) {
          const lease = await guard.enter('a')
          assert.equal(++inside, 1)
          await Promise.resolve()
          assert.ok(lease.held())
          entered++
          inside--
          await lease.release()
        }
      }
      await Promise.all([...guards, ...guards].map(visit))
      assert.equal(entered, 36)
    },
  ],
  [
    'GUARD-2',
    'guard.fifo',
    'lets those who wait in one place in by order of arrival',
    async ({ open }) => {
      const guard = await open()
      const order: number[] = []
      const first = await guard.enter('a')
      const waiting = [1, 2, 3, 4, 5].map(async (number) => {
        const lease = await guard.enter('a')
        order.push(number)
        await lease.release()
      })
      await first.release()
      await Promise.all(waiting)
      assert.deepEqual(order, [1, 2, 3, 4, 5])
    },
  ],
  [
    'GUARD-3',
    'guard.fence',
    'gives every holder of a key a greater fence than all before',
    async ({ open }) => {
      const guards = [await open(), await open()]
      let highest = -1n
      for (let round = 0; round < 40; round++) {
        const lease = await (guards[round % 2] as ExecutionGuard).enter('a')
        assert.equal(typeof lease.fence, 'bigint')
        assert.ok(lease.fence > highest, `${lease.fence} after ${highest}`)
        highest = lease.fence
        await lease.release()
      }
    },
  ],
  [
    'GUARD-4',
    'guard.wait.timeout',
    'stops waiting when the time is over, and leaves its place',
    async ({ open }) => {
      const guard = await open()
      const lease = await guard.enter('a')
      const startedAt = performance.now()
      const details = await expectCode(guard.enter('a', { waitMs: 60 }), 'lease_timeout')
      assert.deepEqual(details, { key: 'a', waitMs: 60 })
      assert.ok(performance.now() - startedAt >= 59)
      await lease.release()
      assert.ok((await guard.enter('a', { waitMs: 0 })).held(), 'somebody who left still stands in the way')
    },
  ],
  [
    'GUARD-4',
    'guard.wait.abort',
    'stops waiting when the signal fires, and leaves its place',
    async ({ open }) => {
      const guard = await open()
      const lease = await guard.enter('a')
      const controller = new AbortController()
      const waiting = guard.enter('a', { signal: controller.signal })
      setImmediate(() => controller.abort())
      await expectCode(waiting, 'aborted')
      await expectCode(guard.enter('b', { signal: controller.signal }), 'aborted')
      await lease.release()
      assert.ok((await guard.enter('a', { waitMs: 0 })).held())
      assert.ok((await guard.enter('b', { waitMs: 0 })).held())
    },
  ],
  [
    'GUARD-5',
    'guard.release.idempotent',
    'releases ten times, one after the other and at once, without taking the next holder’s lease',
    async ({ open }) => {
      const guard = await open()
      const lease = await guard.enter('a')
      await Promise.all(Array.from({ length: 10 }, () => lease.release()))
      const next = await guard.enter('a', { waitMs: 0 })
      for (let round = 0; round < 10; round++) await lease.release()
      await lease[Symbol.asyncDispose]()
      assert.ok(!lease.held() && next.held())
      await expectCode(guard.enter('a', { waitMs: 0 }), 'lease_timeout')
    },
  ],
  [
    'GUARD-6',
    'guard.lost.release',
    'says so when a lease is no longer held, before anybody else has it',
    async ({ open }) => {
      const guard = await open()
      const lease = await guard.enter('a')
      assert.ok(!lease.lost.aborted)
      let heldWhenLost: boolean | undefined
      lease.lost.addEventListener('abort', () => (heldWhenLost = lease.held()))
      const next = guard.enter('a').then((other) => ({ other, wasHeld: lease.held() }))
      await lease.release()
      assert.equal(heldWhenLost, false)
      assert.ok(lease.lost.aborted && !lease.held())
      assert.equal((await next).wasHeld, false)
    },
  ],
  [
    'GUARD-7',
    'guard.renews',
    'keeps a lease beyond its time to live while the holder lives',
    async ({ open }) => {
      const [guard, other] = [await open(), await open()]
      const lease = await guard.enter('a', { ttlMs: 1500 })
      await expectCode(other.enter('a', { waitMs: 2400, ttlMs: 1500 }), 'lease_timeout')
      assert.ok(lease.held() && !lease.lost.aborted)
    },
  ],
  [
    'GUARD-8',
    'guard.dispose',
    'gives back what it holds and sends waiters away when it is disposed of',
    async ({ open }) => {
      const guard = await open()
      const lease: Lease = await guard.enter('a')
      const waiting = expectCode(guard.enter('a'), 'store_unavailable')
      await guard[Symbol.asyncDispose]()
      await guard[Symbol.asyncDispose]()
      await waiting
      assert.ok(!lease.held() && lease.lost.aborted)
      await expectCode(guard.enter('b'), 'store_unavailable')
    },
  ],
  [
    'GUARD-9',
    'guard.argument.bad',
    'refuses keys and times that are none',
    async ({ open }) => {
      const guard = await open()
      for (const key of ['', 'a\0', '\udfff', 'x'.repeat(1025)]) await expectCode(guard.enter(key), 'invalid_argument')
      for (const ttlMs of [0, 999, NaN, -1]) await expectCode(guard.enter('a', { ttlMs }), 'invalid_argument')
      for (const waitMs of [-1, NaN]) await expectCode(guard.enter('a', { waitMs }), 'invalid_argument')
      assert.ok((await guard.enter('x'.repeat(1024), { waitMs: 0 })).held())
    },
  ],
])
