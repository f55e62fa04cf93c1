import { spawn } from 'node:child_process'
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
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

/**
 * What the stores sync in one life cycle, counted with strace (see METHOD.md). A new key takes two files and three folders,
 * in the guard and in the state store; a change of one takes a file and a folder: the records ready, committed and
 * deleted, and the lease given back.
 */
const SYNCS: Syncs = { files: 8, folders: 10 }

interface Syncs {
  readonly files: number
  readonly folders: number
}

/** mkdir + write + spawn + rm, with as many fsyncs as our stores do. */
function plain(folder: string, syncs: Syncs): Promise<void> {
  const path = join(folder, 'plain')
  mkdirSync(path)
  writeFileSync(join(path, 'task.txt'), 'do it\n')
  for (let i = 0; i < syncs.files; i++) writeDurably(join(path, `record-${i}`))
  for (let i = 0; i < syncs.folders; i++) syncFolder(path, i)
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

/** A folder in which a name was changed: without that there is nothing to sync. */
function syncFolder(path: string, change: number): void {
  renameSync(join(path, `record-${change === 0 ? '0' : `0-${change - 1}`}`), join(path, `record-0-${change}`))
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

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
          baseline: { run: () => plain(folder.path, { files: 0, folders: 0 }) },
          target: 3,
          pairs: 40,
        }),
        await compare({
          name: 'local create → exec → destroy, folder stores',
          ours: { run: () => ours(inFolders) },
          baseline: { run: () => plain(folder.path, SYNCS) },
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
