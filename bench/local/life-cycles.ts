import { spawn } from 'node:child_process'
import { closeSync, fsyncSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Host } from '@cofferdam/core'
import type { Benchmark } from '../benchmark.js'
import { compare } from '../measure.js'
import { localHost, localHostInMemory } from './local-host.js'
import { createTestFolder } from './test-folder.js'

const manifest = { entries: { 'task.txt': { kind: 'file', text: 'do it\n' } } } as const

async function ours(host: Host): Promise<void> {
  const session = await host.acquire({ manifest, snapshots: { kind: 'none' }, afterRelease: 'destroy' })
  await session.exec('true')
  await session.release()
}

/** mkdir + write + spawn + rm, with as many fsyncs as our stores do. */
function plain(folder: string, fsyncs: number): Promise<void> {
  const path = join(folder, 'plain')
  mkdirSync(path)
  writeFileSync(join(path, 'task.txt'), 'do it\n')
  for (let i = 0; i < fsyncs; i++) writeDurably(join(path, `record-${i}`))
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', 'true'], { cwd: path, stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.resume()
    child.stderr.resume()
    child.on('error', reject)
    child.on('close', () => {
      rmSync(path, { recursive: true })
      resolve()
    })
  })
}

function writeDurably(path: string): void {
  const fd = openSync(path, 'w')
  try {
    writeFileSync(fd, 'record')
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** fsyncs of files and folders by the stores in one life cycle: a claim, a ready and a committed record, and the lease. */
const FOLDER_STORE_FSYNCS = 12

export const lifeCycles: Benchmark = {
  name: 'local life cycle',
  async measure() {
    const folder = createTestFolder()
    const inMemory = await localHostInMemory(folder.path)
    const inFolders = await localHost(folder.path)
    try {
      return [
        await compare({
          name: 'local create → exec → destroy, memory stores',
          ours: { run: () => ours(inMemory) },
          baseline: { run: () => plain(folder.path, 0) },
          target: 3,
          pairs: 40,
        }),
        await compare({
          name: 'local create → exec → destroy, folder stores',
          ours: { run: () => ours(inFolders) },
          baseline: { run: () => plain(folder.path, FOLDER_STORE_FSYNCS) },
          target: 3,
          pairs: 40,
        }),
      ]
    } finally {
      await inMemory[Symbol.asyncDispose]()
      await inFolders[Symbol.asyncDispose]()
      folder.remove()
    }
  },
}
