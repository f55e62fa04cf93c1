import { spawn } from 'node:child_process'
import type { Benchmark } from '../benchmark.js'
import { compare } from '../measure.js'
import { localHostInMemory } from './local-host.js'
import { createTestFolder } from './test-folder.js'

/** `child_process.spawn` with pipes, read to the end, as anybody would write it. */
function rawSpawn(): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', 'true'], { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.on('error', reject)
    child.on('close', () => resolve(output))
  })
}

const times = async (count: number, run: () => Promise<unknown>): Promise<void> => {
  for (let i = 0; i < count; i++) await run()
}

export const commands: Benchmark = {
  name: 'local exec',
  async measure() {
    const folder = createTestFolder()
    const host = await localHostInMemory(folder.path)
    try {
      const session = await host.acquire({ snapshots: { kind: 'none' }, afterRelease: 'destroy' })
      const exec = (): Promise<unknown> => session.exec('true')
      const at = <T>(count: number, run: () => Promise<T>): Promise<T[]> =>
        Promise.all(Array.from({ length: count }, run))
      return [
        await compare({
          name: 'local exec of sh -c true',
          ours: { run: () => times(20, exec) },
          baseline: { run: () => times(20, rawSpawn) },
          target: 1.3,
          pieces: 20,
        }),
        await compare({
          name: 'local exec, 50 at once',
          ours: { run: () => at(50, exec) },
          baseline: { run: () => at(50, rawSpawn) },
          target: 1.3,
        }),
      ]
    } finally {
      await host[Symbol.asyncDispose]()
      folder.remove()
    }
  },
}
