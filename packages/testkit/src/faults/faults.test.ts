import { expect, it } from 'vitest'
import {
  createMemoryClient,
  createMemoryWorld,
  killAtFailpoint,
  runDriver,
  traceFailpoints,
  virtualClock,
} from '../index.js'

const driver = new URL('./failing.driver.ts', import.meta.url)

it('kills a driver at a failpoint, at the pass asked for, and tells how it died', async () => {
  const end = await killAtFailpoint(driver, 'second:2')
  expect(end).toMatchObject({ how: 'killed', exitCode: null, signal: 'SIGKILL', stdout: 'before\npass 1\npass 2\n' })
})

it('lets a driver end by itself that never passes the failpoint', async () => {
  const end = await killAtFailpoint(driver, 'never')
  expect(end).toMatchObject({ how: 'exited', exitCode: 5, signal: null })
})

it('traces the failpoints that a driver passes', async () => {
  const { end, passed } = await traceFailpoints(driver)
  expect(end.how).toBe('exited')
  expect(passed).toEqual(['first', 'second', 'second', 'second'])
})

it('tells a kill by somebody else from a timeout', async () => {
  const killed = await runDriver(driver, {
    onLine: (line, pid) => void (line === 'before' && process.kill(pid, 'SIGTERM')),
  })
  expect(killed).toMatchObject({ how: 'killed', signal: 'SIGTERM' })
  expect(await runDriver(driver, { timeoutMs: 1 })).toMatchObject({ how: 'timeout', signal: 'SIGKILL' })
})

it('fires timers in order as its hands are turned', async () => {
  const clock = virtualClock(1_000)
  const fired: string[] = []
  clock.schedule(() => fired.push(`b ${clock.monotonicMs()}`), 20)
  clock.schedule(() => {
    fired.push(`a ${clock.monotonicMs()}`)
    clock.schedule(() => fired.push(`c ${clock.monotonicMs()}`), 15)
  }, 10)
  const cancel = clock.schedule(() => fired.push('cancelled'), 5)
  cancel()
  await clock.advance(19)
  expect(fired).toEqual(['a 10'])
  clock.setWallClock(5)
  await clock.advance(100)
  expect(fired).toEqual(['a 10', 'b 20', 'c 25'])
  expect([clock.monotonicMs(), clock.nowMs(), clock.pending]).toEqual([119, 105, 0])
})

it('lets commands of a memory sandbox sleep for an hour at once', async () => {
  const clock = virtualClock()
  const sandbox = await createMemoryClient(createMemoryWorld({ clock, timers: clock })).create({
    name: 'sleeper',
    identity: { deployment: 'test', slotHash: 'aa', sessionId: 's' },
    workspaceRoot: '/workspace',
    environment: {},
    mounts: [],
    limits: { memoryBytes: null, cpus: null, pids: null, diskBytes: null },
    network: { kind: 'none' },
    users: 'off',
    entrypoint: 'ignore',
    fromNative: null,
    requires: {},
  })
  await sandbox.start({ fence: 1n })
  const sleeper = await sandbox.spawn({ operationId: 'a', command: 'sleep 1h; exit 3', timeoutMs: 0 })
  const late = await sandbox.spawn({ operationId: 'b', command: 'sleep 1h', timeoutMs: 60_000 })
  await clock.advance(3_600_000)
  expect((await sleeper.wait()).exitCode).toBe(3)
  expect((await late.wait()).timedOut).toBe(true)
  await sandbox.shutdown()
  expect(clock.pending).toBe(0)
})
