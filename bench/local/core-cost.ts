import { createHost } from '@cofferdam/core'
import type { SandboxSession } from '@cofferdam/core'
import { createMemoryWorld, memoryBackend } from '@cofferdam/testkit'
import type { Benchmark } from '../benchmark.js'
import { figure, heapBytes, median } from '../measure.js'
import { memoryStores } from './memory-stores.js'

const SESSIONS = 1_000
/** A host serves for long: what counts is the code that the engine has compiled, and that takes some hundred turns. */
const WARM_UP_TURNS = 1_500
const TURNS = 1_500
const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }

/** What core itself costs, on a backend and stores that cost next to nothing. Baselines are the bounds themselves. */
export const coreCost: Benchmark = {
  name: 'core on the memory backend',
  async measure() {
    const world = createMemoryWorld()
    const host = await createHost({
      plugins: [memoryBackend(world), memoryStores()],
      drainOnSignals: false,
      logger: silent,
    })
    const request = { snapshots: { kind: 'none' }, afterRelease: 'destroy' } as const
    try {
      const turns: number[] = []
      for (let i = -WARM_UP_TURNS; i < TURNS; i++) {
        const startMs = performance.now()
        const session = await host.acquire(request)
        await session.release()
        if (i >= 0) turns.push(performance.now() - startMs)
      }
      const before = heapBytes()
      const sessions: SandboxSession[] = []
      for (let i = 0; i < SESSIONS; i++) sessions.push(await host.acquire(request))
      const retainedKiB = (heapBytes() - before) / SESSIONS / 1_024
      await Promise.all(sessions.map((session) => session.release()))
      return [
        figure({ name: 'core: acquire and release', value: median(turns), baseline: 0.3, target: 1, unit: 'ms' }),
        figure({ name: 'core: retained by a live session', value: retainedKiB, baseline: 20, target: 1, unit: 'KiB' }),
      ]
    } finally {
      await host[Symbol.asyncDispose]()
    }
  },
}
