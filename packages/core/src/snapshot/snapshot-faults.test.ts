import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { BlobStore } from '../contracts/blob-store.js'
import type { FileRead, SandboxFiles } from '../contracts/files.js'
import type { Sandbox } from '../contracts/sandbox.js'
import type { SnapshotRef } from '../contracts/snapshot.js'
import { createMemoryBlobStore } from '../store/memory-blob-store.js'
import { chooseSeed, seededRandom } from '../store/seeded-random.fixture.js'
import { withFolder } from '../store/test-folder.fixture.js'
import { createArchiveEngine } from './archive-engine.js'
import { openDirectorySandbox } from './directory-sandbox.fixture.js'
import { withBlobFault } from './faulty-blob-store.fixture.js'
import type { BlobFault } from './faulty-blob-store.fixture.js'
import { readWhole } from './read-whole.js'
import { describeTree, expectTree } from './workspace-tree.fixture.js'

const slotHash = 'f00d'
const request = { slotHash, parent: null, exclude: [], spec: { kind: 'archive' } }
const keepNothing = { keep: [] }
const engineOn = (blobs: BlobStore) => createArchiveEngine({ blobs, storeName: 'memory' })
const commitAt = (ref: SnapshotRef): string => `snapshots/${slotHash}/${ref.id}`
const archiveAt = (ref: SnapshotRef): string => `archives/${slotHash}/${ref.id}`

async function withSnapshot(
  run: (found: {
    sandbox: Sandbox
    blobs: BlobStore
    ref: SnapshotRef
    untouched: () => Promise<void>
  }) => Promise<void>,
  change?: (files: SandboxFiles) => SandboxFiles,
): Promise<void> {
  await withFolder(async (folder) => {
    const sandbox = await openDirectorySandbox(folder, change)
    const { workspace, control } = sandbox.paths
    execFileSync('sh', ['-c', 'mkdir -p a/b && seq 9999 > a/b/f && seq 300 > g && ln g h && ln -s g l'], {
      cwd: workspace,
    })
    const blobs = createMemoryBlobStore()
    const ref = (await engineOn(blobs).take(sandbox, request))!
    writeFileSync(join(workspace, 'g'), 'changed since')
    const before = describeTree(workspace)
    const inode = statSync(join(workspace, 'a')).ino
    const untouched = async (): Promise<void> => {
      expectTree(workspace, before)
      expect(statSync(join(workspace, 'a')).ino).toBe(inode)
      await engineOn(blobs).recover(sandbox)
      expect(readdirSync(control)).toEqual([])
    }
    await run({ sandbox, blobs, ref, untouched })
  })
}

describe('bytes that are not what was saved', () => {
  it('are found wherever they are, and the workspace is not touched', { timeout: 120_000 }, async () => {
    const random = seededRandom(chooseSeed('snapshot faults'))
    await withSnapshot(async ({ sandbox, blobs, ref, untouched }) => {
      const kinds = ['truncate', 'flip', 'lose', 'extend'] as const
      const faults = Array.from({ length: 60 }, (_, index) => ({
        prefix: index % 5 === 0 ? 'snapshots/' : 'archives/',
        kind: kinds[index % 4]!,
        at: index < 12 ? [0, 0.999999, 0.5][index % 3]! : random(),
      }))
      for (const fault of faults) {
        const engine = engineOn(withBlobFault(blobs, fault))
        // A flipped bit in the commit object may change a letter that says when it was made, and then all still fits.
        if (fault.prefix === 'snapshots/' && fault.kind !== 'truncate' && fault.kind !== 'lose') continue
        const code = fault.prefix === 'snapshots/' && fault.kind === 'lose' ? 'snapshot_not_found' : 'snapshot_corrupt'
        await expect(engine.restore(sandbox, ref, keepNothing), JSON.stringify(fault)).rejects.toMatchObject({ code })
        await expect(engine.verify(ref), JSON.stringify(fault)).rejects.toMatchObject({ code })
      }
      await untouched()
    })
  })

  it('pass on that the store is away, which says nothing about them', async () => {
    await withSnapshot(async ({ sandbox, blobs, ref, untouched }) => {
      for (const prefix of ['snapshots/', 'archives/']) {
        const engine = engineOn(withBlobFault(blobs, { prefix, kind: 'fail-get' }))
        await expect(engine.restore(sandbox, ref, keepNothing)).rejects.toMatchObject({ code: 'store_unavailable' })
      }
      await untouched()
    })
  })

  it.each<[string, string[]]>([
    ['a name that leads out', ['-P', '--transform=s,^g,../out,']],
    ['an absolute name', ['-P', '--transform=s,^g,/tmp/cofferdam-out,']],
    ['a member beneath a link', ['--transform=s,^g$,l/evil,', 'l', 'g']],
    ['a member twice', ['g', 'g', '--hard-dereference']],
    ['members out of order', ['h', 'g', '--hard-dereference']],
    ['more than the tree that was saved', ['a', 'g', 'h', 'l', 'k']],
  ])('are refused when they are an archive with %s, and its hash is right', async (_what, members) => {
    await withSnapshot(async ({ sandbox, blobs, ref, untouched }) => {
      const names = members.some((member) => !member.startsWith('-')) ? members : [...members, 'a', 'g', 'h', 'l']
      const folder = sandbox.paths.workspace
      execFileSync('sh', ['-c', 'cp -a g k'], { cwd: folder })
      const archive = execFileSync('tar', ['-cz', ...names], { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] })
      execFileSync('sh', ['-c', 'rm k'], { cwd: folder })
      await blobs.put(archiveAt(ref), archive)
      const commit = JSON.parse(new TextDecoder().decode((await readWhole(await blobs.get(commitAt(ref)), 1e6))!))
      const sha256 = createHash('sha256').update(archive).digest('hex')
      Object.assign(commit.archive, { sizeBytes: archive.length, sha256 })
      await blobs.put(commitAt(ref), new TextEncoder().encode(JSON.stringify(commit)))
      const corrupt = { code: 'snapshot_corrupt', details: { object: archiveAt(ref) } }
      await expect(engineOn(blobs).restore(sandbox, ref, keepNothing)).rejects.toMatchObject(corrupt)
      await untouched()
    })
  })

  it.each<[string, (commit: Record<string, unknown>) => unknown, string]>([
    ['no object', () => [], 'snapshot_corrupt'],
    ['unknown members', (commit) => ({ ...commit, extra: 1 }), 'snapshot_corrupt'],
    ['a later format', (commit) => ({ ...commit, format: 2 }), 'state_version_unsupported'],
    ['another id', ({ ref, ...rest }) => ({ ...rest, ref: { ...(ref as object), id: 'x' } }), 'snapshot_corrupt'],
    [
      'another tree',
      ({ ref, ...rest }) => ({ ...rest, ref: { ...(ref as object), treeDigest: '0'.repeat(64) } }),
      'snapshot_corrupt',
    ],
    ['far too much', (commit) => ({ ...commit, extra: 'x'.repeat(1e6) }), 'snapshot_corrupt'],
  ])('are refused when the commit object has %s', async (_what, change, code) => {
    await withSnapshot(async ({ sandbox, blobs, ref, untouched }) => {
      const commit = JSON.parse(new TextDecoder().decode((await readWhole(await blobs.get(commitAt(ref)), 1e6))!))
      await blobs.put(commitAt(ref), new TextEncoder().encode(JSON.stringify(change(commit))))
      await expect(engineOn(blobs).restore(sandbox, ref, keepNothing)).rejects.toMatchObject({ code })
      await untouched()
    })
  })
})

describe('a take whose store fails', () => {
  it.each<BlobFault>([
    { prefix: 'archives/', kind: 'fail-put' },
    { prefix: 'archives/', kind: 'fail-put-after' },
    { prefix: 'snapshots/', kind: 'fail-put' },
    { prefix: 'snapshots/', kind: 'fail-put-after' },
  ])('at $prefix ($kind) leaves nothing that list shows', async (fault) => {
    await withSnapshot(async ({ sandbox, blobs, ref }) => {
      const engine = engineOn(withBlobFault(blobs, fault))
      await expect(engine.take(sandbox, request)).rejects.toMatchObject({ code: 'store_unavailable' })
      const listed: SnapshotRef[] = []
      for await (const each of engine.list(slotHash)) listed.push(each)
      expect(listed).toEqual([ref])
      await engine.sweepOrphans(0)
      const keys: string[] = []
      for await (const { key } of blobs.list('')) keys.push(key)
      expect(keys).toEqual([archiveAt(ref), commitAt(ref)])
    })
  })
})

describe('a file that changes while it is read', () => {
  /** Calls `disturb` with the number of the read before a file's content is given out to its end. */
  function disturbed(path: string, disturb: (read: number) => void): (files: SandboxFiles) => SandboxFiles {
    let reads = 0
    return (files) => {
      async function* readMany(...call: Parameters<SandboxFiles['readMany']>): AsyncGenerator<FileRead> {
        for await (const read of files.readMany(...call)) {
          if (!read.path.endsWith(path)) yield read
          else {
            const { path: full, stat, content } = read
            const after = async () => (disturb(++reads), (await files.stat(full))!)
            yield { path: full, stat, content, bytes: null, after }
          }
        }
      }
      return new Proxy(files, {
        get(target, name: keyof SandboxFiles) {
          return name === 'readMany' ? readMany : (target[name] as () => unknown).bind(target)
        },
      })
    }
  }

  async function takeWhile(sizeBytes: number, disturb: (read: number, path: string) => void) {
    let result: { content: string; keys: string[] } | undefined
    await withFolder(async (folder) => {
      const path = join(folder, 'workspace', 'busy')
      const sandbox = await openDirectorySandbox(
        folder,
        disturbed('/busy', (read) => disturb(read, path)),
      )
      writeFileSync(path, 'x'.repeat(sizeBytes))
      const blobs = createMemoryBlobStore()
      try {
        const ref = (await engineOn(blobs).take(sandbox, request))!
        await engineOn(blobs).verify(ref)
        await engineOn(blobs).restore(sandbox, ref, keepNothing)
        result = { content: readFileSync(path, 'utf8').slice(sizeBytes), keys: [] }
      } finally {
        const keys: string[] = []
        for await (const { key } of blobs.list('')) keys.push(key)
        expect(keys.length).toBe(result === undefined ? 0 : 2)
      }
    })
    return result
  }

  const sizes = [1000, 6 * 1024 ** 2]

  it.each(sizes)('is read again until it holds still (%i bytes)', async (sizeBytes) => {
    const result = await takeWhile(sizeBytes, (read, path) => read < 3 && appendFileSync(path, `${read}`))
    expect(result?.content).toBe('12')
  })

  it.each(sizes)('is named when it never does (%i bytes)', async (sizeBytes) => {
    const failure = { code: 'snapshot_failed', details: { paths: ['busy'] } }
    await expect(takeWhile(sizeBytes, (_read, path) => appendFileSync(path, '.'))).rejects.toMatchObject(failure)
  })
})

describe('a journal that somebody else wrote', () => {
  it.each<[string, object]>([
    ['a path that leads out of what is kept', { keep: ['../x'] }],
    ['a staging folder elsewhere', { staging: '../../workspace' }],
    ['a directory elsewhere', { directories: [{ path: '/etc', mode: 0o777, mtimeNs: '0' }] }],
    ['a mode that is none', { directories: [{ path: 'a', mode: 1e9, mtimeNs: '0' }] }],
    ['something unknown', { then: 'rm -rf' }],
    ['a staging folder that is not there', {}],
  ])('is refused with %s', async (_what, change) => {
    await withSnapshot(async ({ sandbox, blobs }) => {
      const { workspace, control } = sandbox.paths
      const sound = { version: 1, snapshot: 's', staging: '0'.repeat(26), phase: 'clear', keep: [], directories: [] }
      execFileSync('mkdir', ['-p', join(control, 'restore')])
      writeFileSync(join(control, 'restore/journal.json'), JSON.stringify({ ...sound, ...change }))
      const before = describeTree(workspace)
      await expect(engineOn(blobs).recover(sandbox)).rejects.toMatchObject({ code: 'snapshot_corrupt' })
      expectTree(workspace, before)
    })
  })

  it('is not followed through links, and a restore replaces it', async () => {
    await withSnapshot(async ({ sandbox, blobs, ref }) => {
      const { workspace, control } = sandbox.paths
      const staging = '0'.repeat(26)
      execFileSync('mkdir', ['-p', join(control, 'restore', staging)])
      symlinkSync(workspace, join(control, 'restore', staging, 'tree'))
      const journal = { version: 1, snapshot: 's', staging, phase: 'move', keep: [], directories: [] }
      writeFileSync(join(control, 'restore/journal.json'), JSON.stringify(journal))
      const before = describeTree(workspace)
      await expect(engineOn(blobs).recover(sandbox)).rejects.toMatchObject({ code: 'snapshot_corrupt' })
      expectTree(workspace, before)
      await engineOn(blobs).restore(sandbox, ref, keepNothing)
      expect(readFileSync(join(workspace, 'g'), 'utf8')).toMatch(/^1\n2\n/)
      expect(readdirSync(control)).toEqual([])
    })
  })
})
