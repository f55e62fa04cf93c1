import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { SandboxSession, SnapshotRef } from '@cofferdam/core'
import type { Benchmark } from '../benchmark.js'
import { collectGarbage, compare, figure } from '../measure.js'
import type { Figure } from '../measure.js'
import { localHost } from './local-host.js'
import { createTestFolder, writeProject } from './test-folder.js'

const MIB = 1024 * 1024

export const archives: Benchmark = {
  name: 'local archive snapshots',
  measure: manyFiles,
}

/**
 * To be believed only when measured alone (`--only memory`): a process that has had much memory hides a peak in what it
 * has kept. Measured first it would be worse: with more memory a process forks more slowly, ours and the baseline's alike.
 */
export const archiveMemory: Benchmark = {
  name: 'local archive memory',
  async measure() {
    return [await oneGiB()]
  },
}

async function manyFiles(): Promise<readonly Figure[]> {
  const folder = createTestFolder()
  const host = await localHost(folder.path)
  const source = join(folder.path, 'project')
  const tar = join(folder.path, 'project.tar.gz')
  mkdirSync(source)
  writeProject(source)
  const manifest = { entries: { '.': { kind: 'local_dir', source: 'project' } } } as const
  const restored: SandboxSession[] = []
  let extractions = 0
  try {
    const session = await host.acquire({ manifest, afterRelease: 'destroy' })
    let snapshot: SnapshotRef | null = null
    const take = await compare({
      name: 'archive of 2 000 files / 14 MB',
      ours: { run: async () => void (snapshot = await session.snapshot()) },
      baseline: {
        run: () => Promise.resolve(execFileSync('sh', ['-c', `tar -C '${source}' -c . | gzip -1 > '${tar}'`])),
      },
      target: 4,
      pairs: 9,
    })
    if (snapshot === null) throw new TypeError('nothing was saved')
    const from: SnapshotRef = snapshot
    const restore = await compare({
      name: 'restore of 2 000 files / 14 MB',
      ours: {
        run: async () =>
          void restored.push(
            await host.acquire({ snapshot: from, afterRelease: 'destroy', snapshots: { kind: 'none' } }),
          ),
      },
      baseline: {
        before: () => void mkdirSync(join(folder.path, `extracted-${++extractions}`)),
        run: () =>
          Promise.resolve(execFileSync('tar', ['-C', join(folder.path, `extracted-${extractions}`), '-xzf', tar])),
      },
      target: 3,
      pairs: 9,
    })
    return [take, restore]
  } finally {
    // Only now, see METHOD.md.
    for (const session of restored) await session.release()
    await host[Symbol.asyncDispose]()
    folder.remove()
  }
}

/** Peak memory while 1 GiB is archived, above what the process had after a small archive. */
async function oneGiB(): Promise<Figure> {
  const folder = createTestFolder()
  const host = await localHost(folder.path)
  try {
    const session = await host.acquire({ afterRelease: 'destroy', snapshots: { kind: 'archive', compress: 'none' } })
    await session.files.write('small.txt', 'warm')
    await session.snapshot()
    const block = Buffer.alloc(MIB, 'cofferdam ')
    for (let file = 0; file < 16; file++) {
      const fd = openSync(join(session.workspaceRoot, `big-${file}.bin`), 'w')
      for (let i = 0; i < 64; i++) writeSync(fd, block)
      closeSync(fd)
    }
    collectGarbage()
    const before = process.memoryUsage.rss()
    let peak = before
    const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 5)
    await session.snapshot()
    clearInterval(timer)
    await session.release()
    return figure({
      name: 'extra memory archiving 1 GiB',
      value: (peak - before) / MIB,
      baseline: 64,
      target: 1,
      unit: 'MiB',
    })
  } finally {
    await host[Symbol.asyncDispose]()
    folder.remove()
  }
}
