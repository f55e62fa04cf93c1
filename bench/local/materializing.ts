import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
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
    mkdirSync(source)
    writeProject(source)
    const sessions: SandboxSession[] = []
    let copies = 0
    try {
      return [
        await compare({
          name: 'local_dir of 2 000 files / 14 MB',
          ours: {
            run: async () => {
              const session = await host.acquire({
                manifest: { entries: { '.': { kind: 'local_dir', source: 'project' } } },
                snapshots: { kind: 'none' },
                afterRelease: 'destroy',
              })
              sessions.push(session)
            },
          },
          baseline: {
            run: () => Promise.resolve(execFileSync('cp', ['-a', source, join(folder.path, `copy-${copies++}`)])),
          },
          target: 2,
        }),
      ]
    } finally {
      // Only now, see METHOD.md.
      for (const session of sessions) await session.release()
      await host[Symbol.asyncDispose]()
      folder.remove()
    }
  },
}
