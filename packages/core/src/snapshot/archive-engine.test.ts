import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { createHash } from 'node:crypto'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { BlobStore } from '../contracts/blob-store.js'
import type { Sandbox } from '../contracts/sandbox.js'
import type { SnapshotRef, SnapshotSpec } from '../contracts/snapshot.js'
import { createMemoryBlobStore } from '../store/memory-blob-store.js'
import { chooseSeed, seededRandom } from '../store/seeded-random.fixture.js'
import { withFolder } from '../store/test-folder.fixture.js'
import { createArchiveEngine } from './archive-engine.js'
import { openDirectorySandbox } from './directory-sandbox.fixture.js'
import { createNoneEngine } from './none-engine.js'
import { readWhole } from './read-whole.js'
import { TreeDigest } from './tree-digest.js'
import { describeTree, emptyDirectory, expectTree, writeRandomTree } from './workspace-tree.fixture.js'

const slotHash = 'f00d'
const request = { slotHash, parent: null, exclude: [], spec: { kind: 'archive' } }
const keepNothing = { keep: [] }

async function withSandbox(run: (sandbox: Sandbox, folder: string) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => run(await openDirectorySandbox(folder), folder))
}

function engineOn(blobs: BlobStore, options: Partial<Parameters<typeof createArchiveEngine>[0]> = {}) {
  return createArchiveEngine({ blobs, storeName: 'memory', ...options })
}

async function gather<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

describe('the archive engine', () => {
  it('brings back any tree, over any other, as it was', { timeout: 120_000 }, async () => {
    const random = seededRandom(chooseSeed('restore after take'))
    for (let round = 0; round < 12; round++) {
      await withSandbox(async (sandbox) => {
        const engine = engineOn(createMemoryBlobStore())
        const { workspace, control } = sandbox.paths
        await writeRandomTree(workspace, random)
        const before = describeTree(workspace)
        const compress = random() < 0.7 ? 'gzip' : 'none'
        const ref = await engine.take(sandbox, { ...request, spec: { kind: 'archive', compress } })
        expectTree(workspace, before)
        await engine.verify(ref!)
        if (random() < 0.6) await emptyDirectory(workspace)
        if (random() < 0.6) await writeRandomTree(workspace, random).catch(() => undefined)
        await engine.restore(sandbox, ref!, keepNothing)
        expectTree(workspace, before)
        expect(readdirSync(control)).toEqual([])
        expect(await engine.recover(sandbox)).toBe('nothing')
      })
    }
  })

  it('writes what tar can read', async () => {
    const random = seededRandom(chooseSeed('tar reads snapshots'))
    await withSandbox(async (sandbox, folder) => {
      const blobs = createMemoryBlobStore()
      await writeRandomTree(sandbox.paths.workspace, random)
      writeFileSync(join(sandbox.paths.workspace, 'one'), 'x')
      const ref = await engineOn(blobs).take(sandbox, request)
      const archive = await readWhole(await blobs.get(`archives/${slotHash}/${ref!.id}`), Infinity)
      mkdirSync(join(folder, 'out'))
      execFileSync('tar', ['-xzpf', '-', '-C', join(folder, 'out')], { input: archive! })
      expectTree(join(folder, 'out'), describeTree(sandbox.paths.workspace))
      const commit = await readWhole(await blobs.get(`snapshots/${slotHash}/${ref!.id}`), Infinity)
      expect(JSON.parse(new TextDecoder().decode(commit))).toMatchObject({ format: 1, ref })
    })
  })

  it('gives equal trees equal digests, and others others', async () => {
    await withSandbox(async (sandbox) => {
      const engine = engineOn(createMemoryBlobStore())
      const digest = async (spec: SnapshotSpec = request.spec): Promise<string> =>
        (await engine.take(sandbox, { ...request, spec }))!.treeDigest
      const file = join(sandbox.paths.workspace, 'f')
      const seen = [await digest()]
      for (const command of [
        'echo 1 > f && touch -d @1.5 f',
        'chmod 600 f',
        'touch -d @1.500000001 f',
        'echo 2 > f && touch -d @1.500000001 f',
        'ln f g',
        'rm g && cp -a f g',
        'rm g && ln -s f g && touch -h -d @1 g',
        'ln -sfn e g && touch -h -d @1 g',
        'mv g h',
      ]) {
        execFileSync('sh', ['-ec', command], { cwd: sandbox.paths.workspace })
        seen.push(await digest())
        expect(await digest({ kind: 'archive', compress: 'none' })).toBe(seen.at(-1))
      }
      expect(new Set(seen).size).toBe(seen.length)
      expect(statSync(file).size).toBe(2)
    })
  })

  it('has the digest that its description gives', () => {
    const digest = new TreeDigest()
    const contentSha256 = createHash('sha256').update('hello').digest('hex')
    const common = { mtimeNs: 0n, sizeBytes: 0, mode: 0o777 }
    digest.add({ ...common, path: 'd é', type: 'directory', mode: 0o755, mtimeNs: -1_500_000_000n })
    const file = {
      path: 'd é/\udcff',
      type: 'file',
      mode: 0o644,
      mtimeNs: 1_700_000_000_123_456_789n,
      sizeBytes: 5,
    } as const
    digest.add({ ...common, path: 'd é/😀', type: 'symlink', linkTarget: '../x\udcfe' })
    digest.add({ ...file, contentSha256 })
    digest.add({ ...common, path: 'hard', type: 'hardlink', linkTarget: 'd é/\udcff', mtimeNs: 7n })
    expect(() => digest.add({ ...common, path: 'd é', type: 'directory' })).toThrow(/byte order/)
    // Made by another implementation of the description.
    expect(digest.digest()).toBe('f2af3bdcf52251352caa9ce5226882d1570fe5519e30f81be323652dcfb60616')
    expect(digest).toMatchObject({ files: 2, bytes: 5 })
  })

  it('leaves out what is excluded, the control folder and what cannot be saved', async () => {
    await withFolder(async (folder) => {
      const outer = await openDirectorySandbox(folder)
      const sandbox = { ...outer, paths: { workspace: folder, control: outer.paths.control } }
      const server = createServer().listen(join(folder, 'socket'))
      for (const path of ['mnt/deep', 'mnt2', 'node_modules/x', 'src'])
        mkdirSync(join(folder, path), { recursive: true })
      for (const path of [
        'mnt/deep/f',
        'mnt2/f',
        'node_modules/x/f',
        'src/a.log',
        'src/keep.log',
        'src/f',
        'control/f',
      ]) {
        writeFileSync(join(folder, path), path)
      }
      execFileSync('mkfifo', [join(folder, 'fifo')])
      const skipped: string[] = []
      const blobs = createMemoryBlobStore()
      const ref = await engineOn(blobs).take(sandbox, {
        ...request,
        exclude: ['mnt/deep', 'workspace', './src//f'],
        spec: { kind: 'archive', exclude: ['node_modules/', '*.log', '!keep.log'] },
        onSkipped: (path, reason) => skipped.push(`${path}: ${reason}`),
      })
      server.close()
      const archive = await readWhole(await blobs.get(`archives/${slotHash}/${ref!.id}`), Infinity)
      const names = execFileSync('tar', ['-tzf', '-'], { input: archive!, encoding: 'utf8' }).trim().split('\n')
      expect(names).toEqual(['mnt/', 'mnt2/', 'mnt2/f', 'src/', 'src/keep.log'])
      expect(skipped).toEqual(['fifo: a fifo cannot be saved', 'socket: a socket cannot be saved'])
      expect(ref).toMatchObject({ files: 2, sizeBytes: 18, parent: null })
    })
  })

  it('drops set-id bits unless it is told to keep them', async () => {
    await withSandbox(async (sandbox) => {
      const blobs = createMemoryBlobStore()
      const file = join(sandbox.paths.workspace, 'f')
      execFileSync('sh', ['-c', 'touch f; chmod 6755 f; mkdir d; chmod 3777 d'], { cwd: sandbox.paths.workspace })
      const [dropping, keeping] = [engineOn(blobs), engineOn(blobs, { setIdBits: 'keep' })]
      const [dropped, kept] = [await dropping.take(sandbox, request), await keeping.take(sandbox, request)]
      const modes = async (engine: typeof keeping, ref: SnapshotRef): Promise<number[]> => {
        await engine.restore(sandbox, ref, keepNothing)
        return [file, join(sandbox.paths.workspace, 'd')].map((path) => statSync(path).mode & 0o7777)
      }
      expect(await modes(keeping, kept!)).toEqual([0o6755, 0o3777])
      expect(await modes(keeping, dropped!)).toEqual([0o755, 0o1777])
      expect(await modes(dropping, kept!)).toEqual([0o755, 0o1777])
    })
  })

  it('keeps mounts wherever they lie, and what else is there is replaced', async () => {
    await withSandbox(async (sandbox) => {
      const engine = engineOn(createMemoryBlobStore())
      const { workspace } = sandbox.paths
      const run = (command: string): void => void execFileSync('sh', ['-ec', command], { cwd: workspace })
      run(
        'mkdir -p a/b/mnt a/c && echo old > a/b/f && echo old > a/c/f && echo old > g && touch -d @7.5 a/b a && chmod 750 a/b',
      )
      const besides = (): string[] =>
        describeTree(workspace).flatMap(({ text, mtimeNs }) =>
          text.startsWith('a/b/mnt') ? [] : `${text} ${mtimeNs / 1000n}`,
        )
      const before = besides()
      const ref = await engine.take(sandbox, { ...request, exclude: ['a/b/mnt', 'top'] })
      run(
        'echo canary > a/b/mnt/c && mkdir top && echo canary > top/c && rm a/c/f g && echo new > a/b/extra && mkdir -p x/y',
      )
      const canaries = ['a/b/mnt/c', 'top/c'].map((path) => statSync(join(workspace, path)).ino)
      await engine.restore(sandbox, ref!, { keep: ['a/b/mnt', 'top'] })
      expect(['a/b/mnt/c', 'top/c'].map((path) => statSync(join(workspace, path)).ino)).toEqual(canaries)
      run('rm a/b/mnt/c && rm -r top && touch -d @7.5 a/b a')
      expect(besides()).toEqual(before)
      const inTheWay = await engine.take(sandbox, request)
      await expect(engine.restore(sandbox, inTheWay!, { keep: ['g/mnt'] })).rejects.toMatchObject({
        code: 'path_denied',
      })
      expect(besides()).toEqual(before)
    })
  })

  it('lists by slot in the order of time, probes, deletes', async () => {
    await withSandbox(async (sandbox) => {
      const blobs = createMemoryBlobStore()
      const engine = engineOn(blobs, { clock: { nowMs: () => 1_700_000_000_000 } })
      const refs: SnapshotRef[] = []
      for (let i = 0; i < 5; i++) {
        refs.push((await engine.take(sandbox, { ...request, parent: refs.at(-1) ?? null }))!)
      }
      await engine.take(sandbox, { ...request, slotHash: 'f00' })
      await engine.take(sandbox, { ...request, slotHash: 'f00d0' })
      expect(await gather(engine.list(slotHash))).toEqual(refs)
      expect(refs[1]!.parent).toBe(refs[0]!.id)
      expect(await engine.probe(refs[2]!)).toBe('present')
      for (let i = 0; i < 2; i++) await engine.delete(refs[2]!)
      expect(await engine.probe(refs[2]!)).toBe('absent')
      expect(await gather(engine.list(slotHash))).toEqual(refs.filter((_, index) => index !== 2))
      await expect(engine.restore(sandbox, refs[2]!, keepNothing)).rejects.toMatchObject({ code: 'snapshot_not_found' })
      await expect(engine.verify(refs[2]!)).rejects.toMatchObject({ code: 'snapshot_not_found' })
      expect(await gather(blobs.list(`archives/${slotHash}/`))).toHaveLength(4)
    })
  })

  it.each<[string, object]>([
    ['another store', { store: 'other' }],
    ['another kind', { kind: 'store' }],
    ['an id that leads elsewhere', { id: '../../etc/passwd' }],
  ])('refuses a ref with %s', async (_what, change) => {
    await withSandbox(async (sandbox) => {
      const engine = engineOn(createMemoryBlobStore())
      const ref = { ...(await engine.take(sandbox, request))!, ...change }
      for (const call of [
        engine.probe(ref),
        engine.verify(ref),
        engine.delete(ref),
        engine.restore(sandbox, ref, keepNothing),
      ]) {
        await expect(call).rejects.toMatchObject({ code: 'invalid_argument' })
      }
    })
  })

  it('refuses what it could not bring back, and specs that it does not know', async () => {
    await withSandbox(async (sandbox) => {
      const blobs = createMemoryBlobStore()
      execFileSync('sh', ['-c', 'mkdir -p a/b/c && head -c 5000 /dev/urandom > f'], { cwd: sandbox.paths.workspace })
      for (const limits of [{ maxMembers: 3 }, { maxDepth: 2 }, { maxExtractedBytes: 4999 }, { maxInputBytes: 5000 }]) {
        const failure = {
          code: 'snapshot_failed',
          retryable: false,
          message: expect.stringContaining(Object.keys(limits)[0]!),
        }
        await expect(engineOn(blobs, { limits }).take(sandbox, request)).rejects.toMatchObject(failure)
      }
      for (const spec of [
        { kind: 'archive', compres: 'gzip' },
        { kind: 'archive', compress: 'zip' },
        { kind: 'none' },
      ]) {
        const taking = engineOn(blobs).take(sandbox, { ...request, spec })
        await expect(taking).rejects.toMatchObject({ code: 'invalid_argument' })
      }
      for (const change of [
        { exclude: ['../x'] },
        { slotHash: 'a/b' },
        { spec: { kind: 'archive', exclude: ['a\nb'] } },
      ]) {
        const taking = engineOn(blobs).take(sandbox, { ...request, ...change })
        await expect(taking).rejects.toMatchObject({ code: expect.stringMatching(/invalid_argument|path_escape/) })
      }
      expect(await gather(blobs.list(''))).toEqual([])
    })
  })

  it('removes archives that no snapshot needs, when they are old enough', async () => {
    await withSandbox(async (sandbox) => {
      const blobs = createMemoryBlobStore()
      const engine = engineOn(blobs)
      const [whole, orphan] = [await engine.take(sandbox, request), await engine.take(sandbox, request)]
      await blobs.delete(`snapshots/${slotHash}/${orphan!.id}`)
      await blobs.put('archives/not-ours', new Uint8Array(1))
      expect(await engine.sweepOrphans(60_000)).toBe(0)
      expect(await engine.sweepOrphans(0)).toBe(1)
      const left = (await gather(blobs.list(''))).map(({ key }) => key)
      expect(left).toEqual(
        ['archives/not-ours', `archives/${slotHash}/${whole!.id}`, `snapshots/${slotHash}/${whole!.id}`].sort(),
      )
      await engine.verify(whole!)
    })
  })

  it('leaves nothing when it is aborted at any step', async () => {
    await withSandbox(async (sandbox) => {
      const blobs = createMemoryBlobStore()
      const engine = engineOn(blobs)
      const { workspace, control } = sandbox.paths
      for (let i = 0; i < 5; i++) writeFileSync(join(workspace, `f${i}`), 'x'.repeat(i * 1000))
      const ref = await engine.take(sandbox, request)
      writeFileSync(join(workspace, 'later'), '')
      const before = describeTree(workspace)
      const abortAt = async (step: number, call: (signal: AbortSignal, onProgress: () => void) => Promise<unknown>) => {
        const controller = new AbortController()
        let left = step
        const calling = call(controller.signal, () => void (left-- === 0 && controller.abort()))
        if (step < 0) controller.abort()
        await expect(calling).rejects.toMatchObject({ code: 'aborted' })
      }
      for (let step = -1; step < 5; step++) {
        await abortAt(step, (signal, onProgress) => engine.take(sandbox, { ...request, signal, onProgress }))
        await abortAt(step, (signal, onProgress) =>
          engine.restore(sandbox, ref!, { ...keepNothing, signal, onProgress }),
        )
        await abortAt(step, (signal, onProgress) => engine.verify(ref!, { signal, onProgress }))
      }
      expect(await gather(blobs.list('archives/'))).toHaveLength(1)
      expectTree(workspace, before)
      await engine.recover(sandbox)
      expect(readdirSync(control)).toEqual([])
    })
  })
})

describe('the none engine', () => {
  it('keeps nothing and says so', async () => {
    await withSandbox(async (sandbox) => {
      const engine = createNoneEngine()
      expect(engine.features).toEqual({ persistent: false, incremental: false })
      expect(await engine.take(sandbox, { ...request, spec: { kind: 'none' } })).toBeNull()
      expect(await gather(engine.list(slotHash))).toEqual([])
      const ref = (await engineOn(createMemoryBlobStore()).take(sandbox, request))!
      expect(await engine.probe(ref)).toBe('absent')
      await expect(engine.restore(sandbox, ref, keepNothing)).rejects.toMatchObject({ code: 'unsupported_feature' })
      await expect(engine.verify(ref)).rejects.toMatchObject({ code: 'unsupported_feature' })
      await engine.delete(ref)
      expect(await engine.recover(sandbox)).toBe('nothing')
    })
  })
})
