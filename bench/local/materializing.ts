import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { SandboxSession } from '@cofferdam/core'
import type { Benchmark } from '../benchmark.js'
import { compare } from '../measure.js'
import { localHostInMemory } from './local-host.js'
import { createTestFolder, writeProject } from './test-folder.js'

export const materializing: Benchmark = {
  name: 'local materialize',
  async measure() {
    const folder = createTestFolder()
    const host = await localHostInMemory(folder.path)
    const source = join(folder.path, 'project')
    const copy = join(folder.path, 'copy')
    mkdirSync(source)
    writeProject(source)
    let session: SandboxSession | undefined
    try {
      return [
        await compare({
          name: 'local_dir of 2 000 files / 14 MB',
          ours: {
            run: async () => {
              session = await host.acquire({
                manifest: { entries: { '.': { kind: 'local_dir', source: 'project' } } },
                snapshots: { kind: 'none' },
                afterRelease: 'destroy',
              })
            },
            after: async () => void (await session?.release()),
          },
          baseline: {
            run: () => Promise.resolve(execFileSync('cp', ['-a', source, copy])),
            after: () => rmSync(copy, { recursive: true }),
          },
          target: 2,
        }),
      ]
    } finally {
      await host[Symbol.asyncDispose]()
      folder.remove()
    }
  },
}
