import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { SnapshotEngine, SnapshotRef } from '../contracts/snapshot.js'
import type { Sandbox } from '../contracts/sandbox.js'
import { createFolderBlobStore } from '../store/folder-blob-store.js'
import { chooseSeed, seededRandom } from '../store/seeded-random.fixture.js'
import { whyNoMounts, withFolder } from '../store/test-folder.fixture.js'
import { createArchiveEngine } from './archive-engine.js'
import { openDirectorySandbox } from './directory-sandbox.fixture.js'
import { runDriver, traceFailpoints, whyNotAs } from './run-snapshot-driver.fixture.js'
import type { DriverJob } from './run-snapshot-driver.fixture.js'
import { describeTree, expectTree } from './workspace-tree.fixture.js'

const KEEP = ['kept/deep/mnt']
const request = { slotHash: 'f00d', parent: null, exclude: KEEP, spec: { kind: 'archive' } }

interface Scene {
  readonly engine: SnapshotEngine
  readonly sandbox: Sandbox
  readonly job: DriverJob
  readonly ref: SnapshotRef
  readonly saved: ReturnType<typeof describeTree>
  /** Makes the workspace what it was before the restore. */
  reset(): Promise<void>
  /** The state that the workspace is in; fails when it is neither. */
  which(): 'saved' | 'later'
}

/** A workspace with a directory that must be kept, saved once and changed since. */
async function withScene(run: (scene: Scene) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const blobFolder = join(folder, 'blobs')
    const blobs = createFolderBlobStore({ folder: blobFolder, fsync: false })
    const engine = createArchiveEngine({ blobs, storeName: 'folder' })
    const sandbox = await openDirectorySandbox(folder)
    const sh = (command: string): void => void execFileSync('sh', ['-ec', command], { cwd: sandbox.paths.workspace })
    sh('mkdir -p kept/deep/mnt kept/other a/b closed && echo canary > kept/deep/mnt/canary')
    sh(
      'for i in 1 2 3; do seq $i 999 > a/b/f$i; echo $i > kept/f$i; done; ln a/b/f1 hard; ln -s a soft; touch closed/f',
    )
    sh('find . -exec touch -h -d @1700000000.5 {} +; chmod 500 closed; chmod 710 kept/deep')
    const saved = describeTree(sandbox.paths.workspace)
    const ref = (await engine.take(sandbox, request))!
    sh('rm -r a closed/f soft; mkdir -p new/dir soft; echo later > kept/f1; echo later > hard; rm kept/f2')
    const later = describeTree(sandbox.paths.workspace)
    const laterRef = (await engine.take(sandbox, request))!
    const texts = (tree: typeof saved): string => tree.map(({ text }) => text).join('\n')
    await run({
      engine,
      sandbox,
      job: { folder, blobFolder, keep: KEEP, ref },
      ref,
      saved,
      reset: () => engine.restore(sandbox, laterRef, { keep: KEEP }),
      which() {
        const now = texts(describeTree(sandbox.paths.workspace))
        expect([texts(saved), texts(later)]).toContain(now)
        expect(readFileSync(join(sandbox.paths.workspace, 'kept/deep/mnt/canary'), 'utf8')).toBe('canary\n')
        return now === texts(saved) ? 'saved' : 'later'
      },
    })
    await engine.delete(laterRef)
  })
}

/** Each fail point at its first and its last pass. */
function killsAt(passes: ReadonlyMap<string, number>, prefix: string): string[] {
  return [...passes]
    .filter(([name]) => name.startsWith(prefix))
    .flatMap(([name, count]) => (count === 1 ? [name] : [`${name}:1`, `${name}:${count}`]))
}

describe('a process that is killed', () => {
  it('while it takes a snapshot leaves a whole one or none', { timeout: 120_000 }, async () => {
    await withScene(async ({ engine, job, sandbox, saved, ref }) => {
      const before = describeTree(sandbox.paths.workspace)
      const kills = killsAt(await traceFailpoints('take', job), 'snapshot.take')
      expect(kills.map((name) => name.replace(/:.*/, ''))).toEqual(
        expect.arrayContaining(['snapshot.take.scanned', 'snapshot.take.afterArchive', 'snapshot.take.afterCommit']),
      )
      for (const kill of [...kills, 'blob.put.filled', 'blob.put.renamed', 'blob.put.renamed:2']) {
        const listed = await gather(engine.list('f00d'))
        expect(await runDriver('take', job, kill), kill).toMatchObject({ killed: true })
        const now = await gather(engine.list('f00d'))
        const isWhole = kill === 'snapshot.take.afterCommit' || kill === 'blob.put.renamed:2'
        expect(now.length - listed.length, kill).toBe(isWhole ? 1 : 0)
        for (const each of now) await engine.verify(each)
        expectTree(sandbox.paths.workspace, before)
      }
      await engine.restore(sandbox, ref, { keep: KEEP })
      expectTree(sandbox.paths.workspace, saved)
    })
  })

  it('while it restores leaves the old workspace or the new one, once recovered', { timeout: 240_000 }, async () => {
    await withScene(async (scene) => {
      const { engine, job, sandbox } = scene
      const kills = killsAt(await traceFailpoints('restore', job), 'snapshot.')
      expect(kills.length).toBeGreaterThan(15)
      const outcomes = new Set<string>()
      for (const kill of kills) {
        await scene.reset()
        expect(scene.which()).toBe('later')
        expect(await runDriver('restore', job, kill), kill).toMatchObject({ killed: true })
        const hadJournal = existsSync(join(sandbox.paths.control, 'restore/journal.json'))
        const outcome = await engine.recover(sandbox)
        outcomes.add(outcome)
        expect(outcome === 'finished', kill).toBe(hadJournal)
        const isNew = hadJournal || kill === 'snapshot.apply.done'
        expect(scene.which(), kill).toBe(isNew ? 'saved' : 'later')
        if (isNew) expectTree(sandbox.paths.workspace, scene.saved)
        expect(readdirSync(sandbox.paths.control), kill).toEqual([])
        expect(await engine.recover(sandbox)).toBe('nothing')
      }
      expect([...outcomes].sort()).toEqual(['finished', 'nothing', 'undone'])
    })
  })

  it('again and again while it recovers, still comes to an end', { timeout: 240_000 }, async () => {
    const random = seededRandom(chooseSeed('kills while recovering'))
    await withScene(async (scene) => {
      const { job, sandbox } = scene
      await scene.reset()
      await runDriver('restore', job, 'snapshot.restore.noted')
      const kills = killsAt(await traceFailpoints('recover', job), 'snapshot.apply')
      for (let round = 0; round < 3; round++) {
        await scene.reset()
        expect(await runDriver('restore', job, 'snapshot.restore.noted')).toMatchObject({ killed: true })
        for (let left = 3; left > 0; left--) {
          const { killed } = await runDriver('recover', job, kills[Math.floor(random() * kills.length)])
          if (!killed) break
        }
        await runDriver('recover', job)
        expect(scene.which()).toBe('saved')
        expect(readdirSync(sandbox.paths.control)).toEqual([])
      }
    })
  })

  it('while a restore follows one that died finishes one of them', { timeout: 120_000 }, async () => {
    await withScene(async (scene) => {
      const { engine, job, sandbox } = scene
      for (const kill of ['snapshot.restore.begun', 'snapshot.restore.staged', 'snapshot.restore.noted']) {
        await scene.reset()
        await runDriver('restore', job, 'snapshot.apply.cleared')
        expect(await runDriver('restore', job, kill)).toMatchObject({ killed: true })
        expect(await engine.recover(sandbox)).toBe('finished')
        expect(scene.which(), kill).toBe('saved')
        expect(readdirSync(sandbox.paths.control)).toEqual([])
      }
    })
  })

  it('while it deletes leaves nothing that is listed', async () => {
    await withScene(async ({ engine, job, ref }) => {
      expect(await runDriver('delete', job, 'snapshot.delete.afterCommit')).toMatchObject({ killed: true })
      expect(await engine.probe(ref)).toBe('absent')
      expect(await (engine as ReturnType<typeof createArchiveEngine>).sweepOrphans(0)).toBe(1)
    })
  })
})

async function gather<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

const skipMounts = whyNoMounts()
if (skipMounts !== undefined) process.stdout.write(`skipped: mounts survive a restore, because ${skipMounts}\n`)

describe('mounts beneath a workspace', () => {
  it.skipIf(skipMounts !== undefined && process.env['CI'] !== 'true')('survive a restore, named or not', async () => {
    await withScene(async ({ engine, sandbox, ref, saved, which }) => {
      const { workspace } = sandbox.paths
      const mount = join(workspace, 'new/mnt')
      mkdirSync(mount)
      const outside = join(workspace, '../outside')
      mkdirSync(outside)
      writeFileSync(join(outside, 'canary'), 'canary')
      const named = join(workspace, KEEP[0]!)
      execFileSync('mount', ['--bind', outside, mount])
      try {
        execFileSync('mount', ['-t', 'tmpfs', 'cofferdam-test', named])
        try {
          writeFileSync(join(named, 'canary'), 'canary\n')
          const restoring = engine.restore(sandbox, ref, { keep: KEEP })
          await expect(restoring).rejects.toMatchObject({ code: 'path_denied' })
          expect(readFileSync(join(outside, 'canary'), 'utf8')).toBe('canary')
          await expect(engine.recover(sandbox)).rejects.toMatchObject({ code: 'path_denied' })
          await engine.restore(sandbox, ref, { keep: [...KEEP, 'new/mnt'] })
          expect(readFileSync(join(mount, 'canary'), 'utf8')).toBe('canary')
          expect(readFileSync(join(named, 'canary'), 'utf8')).toBe('canary\n')
        } finally {
          execFileSync('umount', [named])
        }
      } finally {
        execFileSync('umount', [mount])
      }
      expect(readFileSync(join(outside, 'canary'), 'utf8')).toBe('canary')
      await engine.restore(sandbox, ref, { keep: KEEP })
      expect(which()).toBe('saved')
      expectTree(workspace, saved)
    })
  })
})

const NOBODY = 65534
const skipUser = whyNotAs(NOBODY)
if (skipUser !== undefined)
  process.stdout.write(`skipped: closed directories without privileges, because ${skipUser}\n`)

describe('a user without privileges', () => {
  it.skipIf(skipUser !== undefined)('gets back directories that nobody may write to, over others', async () => {
    await withFolder(async (folder) => {
      const { paths } = await openDirectorySandbox(folder)
      const sh = (command: string): void => void execFileSync('sh', ['-ec', command], { cwd: paths.workspace })
      const close = 'chmod 444 a/f; chmod 555 a/b/c a k; chmod 500 a/b m'
      sh(`mkdir -p a/b/c m/mnt k; echo 1 > a/b/c/f; echo 2 > a/f; echo 3 > k/f; touch m/x m/mnt/x; ${close}`)
      sh(`chown -R ${NOBODY}:${NOBODY} ${folder}`)
      const before = describeTree(paths.workspace)
      const job = { folder, blobFolder: join(folder, 'blobs'), keep: ['m/mnt'], uid: NOBODY }
      const ref = JSON.parse((await runDriver('take', job)).said) as SnapshotRef
      sh('mkdir -p k/new/empty; touch k/new/f m/new; chmod 500 k/new; rm -rf a')
      sh(`chown -R ${NOBODY}:${NOBODY} .`)
      await runDriver('restore', { ...job, ref })
      expectTree(paths.workspace, before)
      expect(readdirSync(paths.control)).toEqual([])
    })
  })
})

describe('memory', () => {
  it('does not grow with the size of the workspace', { timeout: 120_000 }, async () => {
    await withFolder(async (folder) => {
      const { paths } = await openDirectorySandbox(folder)
      const small = await openDirectorySandbox(join(folder, 'small'))
      const fill =
        'truncate -s 200M hole; head -c 30M /dev/urandom > noise; for i in $(seq 400); do head -c 100K noise > f$i; done'
      execFileSync('sh', ['-ec', fill], { cwd: paths.workspace })
      execFileSync('sh', ['-ec', 'head -c 20M /dev/urandom > f; for i in $(seq 400); do head -c 9K f > f$i; done'], {
        cwd: small.paths.workspace,
      })
      const { said } = await runDriver('memory', { folder, blobFolder: join(folder, 'blobs') })
      expect(Number(said) / 1024 ** 2).toBeLessThan(64)
    })
  })
})
