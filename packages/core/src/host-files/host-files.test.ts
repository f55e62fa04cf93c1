import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runDriver } from '@cofferdam/testkit'
import type { FileToWrite, SandboxFiles, TreeEntry } from '../contracts/files.js'
import { isSandboxError, SandboxError } from '../errors/sandbox-error.js'
import { encodePath } from '../path/path-bytes.js'
import { createHostFiles } from './host-files.js'
import { removeHostTree } from './host-directory.js'

const isLinux = process.platform === 'linux'
let base: string
let ws: string
let files: SandboxFiles

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'cofferdam-files-')))
  ws = join(base, 'ws')
  mkdirSync(ws)
  files = createHostFiles({ roots: [{ path: ws, readOnly: false }] })
})

afterEach(() => rmSync(base, { recursive: true, force: true }))

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const textOf = async (path: string): Promise<string> => new Response(await files.read(path)).text()
const codeOf = (act: Promise<unknown>): Promise<string> =>
  act.then(
    () => 'ok',
    (error: unknown) => (isSandboxError(error) ? error.code : String(error)),
  )

async function treeOf(path: string, from: SandboxFiles = files): Promise<TreeEntry[]> {
  const found: TreeEntry[] = []
  for await (const entry of from.tree(path)) found.push(entry)
  return found
}

function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length
}

describe('writing', () => {
  it('keeps mode and owner of what it replaces, and leaves links to the old file alone', async () => {
    writeFileSync(`${ws}/f`, 'old')
    chmodSync(`${ws}/f`, 0o640)
    if (process.getuid?.() === 0) chownSync(`${ws}/f`, 1234, 2345)
    const before = statSync(`${ws}/f`)
    await files.link(`${ws}/f`, `${ws}/kept`)
    await files.write(`${ws}/f`, bytes('new'))
    const after = statSync(`${ws}/f`)
    expect([after.mode, after.uid, after.gid]).toEqual([before.mode, before.uid, before.gid])
    expect(readFileSync(`${ws}/kept`, 'utf8')).toBe('old')
    expect(await textOf(`${ws}/f`)).toBe('new')
  })

  it('changes nothing when the last check before it shows throws', async () => {
    let allowed = 1
    const guarded = createHostFiles({
      roots: [{ path: ws, readOnly: false }],
      beforeWrite: () => {
        if (allowed-- <= 0) throw new SandboxError('lease_lost', 'not ours', { key: 'k' })
      },
    })
    writeFileSync(`${ws}/f`, 'old')
    expect(await codeOf(guarded.write(`${ws}/f`, bytes('new')))).toBe('lease_lost')
    expect(readdirSync(ws)).toEqual(['f'])
    expect(readFileSync(`${ws}/f`, 'utf8')).toBe('old')
  })

  it('stops waiting for a source that hangs when it is aborted, and leaves nothing', async () => {
    const stop = new AbortController()
    let cancelled = false
    const source = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(bytes('part')),
      pull: () => {
        stop.abort()
        return new Promise(() => undefined)
      },
      cancel: () => void (cancelled = true),
    })
    expect(await codeOf(files.write(`${ws}/f`, source, { signal: stop.signal }))).toBe('aborted')
    expect(cancelled).toBe(true)
    expect(readdirSync(ws)).toEqual([])
  })

  it('sets times exact to the microsecond', async () => {
    writeFileSync(`${ws}/f`, '')
    const times = fc.bigInt({ min: 0n, max: 4_000_000_000_000_000_000n })
    await fc.assert(
      fc.asyncProperty(times, async (mtimeNs) => {
        await files.utimens(`${ws}/f`, mtimeNs)
        expect((await files.stat(`${ws}/f`))?.mtimeNs).toBe((mtimeNs / 1000n) * 1000n)
      }),
      { numRuns: 300 },
    )
  })

  it('writes nothing through a root that is read-only, nor ties its files to another name', async () => {
    const mixed = createHostFiles({
      roots: [
        { path: ws, readOnly: false },
        { path: `${ws}/ro`, readOnly: true },
      ],
    })
    mkdirSync(`${ws}/ro`)
    writeFileSync(`${ws}/ro/f`, 'kept')
    symlinkSync('ro/f', `${ws}/l`)
    const attempts = {
      write: mixed.write(`${ws}/l`, bytes('x')),
      append: mixed.write(`${ws}/ro/f`, bytes('x'), { append: true }),
      create: mixed.write(`${ws}/ro/new`, bytes('x')),
      remove: mixed.remove(`${ws}/ro/f`),
      away: mixed.rename(`${ws}/ro/f`, `${ws}/g`),
      link: mixed.link(`${ws}/ro/f`, `${ws}/g`),
      chmod: mixed.chmod(`${ws}/l`, 0o600),
      many: mixed.writeMany([{ type: 'file', path: 'ro/f', mode: 0o600, sizeBytes: 1, content: bytes('x') }], ws),
    }
    for (const [name, act] of Object.entries(attempts)) expect([name, await codeOf(act)]).toEqual([name, 'read_only'])
    expect(await codeOf(mixed.remove(ws, { recursive: true }))).toBe('path_denied')
    expect(readFileSync(`${ws}/ro/f`, 'utf8')).toBe('kept')
  })

  it('takes what is hidden for outside, shows it nowhere and does not remove it with what is around', async () => {
    mkdirSync(`${ws}/a/secret`, { recursive: true })
    writeFileSync(`${ws}/a/secret/f`, 'x')
    const hiding = createHostFiles({ roots: [{ path: ws, readOnly: false }], hidden: [`${ws}/a/secret`] })
    expect(await codeOf(hiding.read(`${ws}/a/secret/f`))).toBe('path_escape')
    expect(await codeOf(hiding.stat(`${ws}/a/secret`))).toBe('path_escape')
    expect(await codeOf(hiding.write(`${ws}/a/secret/new`, bytes('x')))).toBe('path_escape')
    expect(await codeOf(hiding.remove(`${ws}/a`, { recursive: true }))).toBe('path_denied')
    expect((await treeOf(ws, hiding)).map(({ path }) => path)).toEqual(['a'])
    expect(readFileSync(`${ws}/a/secret/f`, 'utf8')).toBe('x')
  })
})

describe.runIf(isLinux)('on Linux', () => {
  it('never waits for a FIFO, nor touches what is no file', async () => {
    execFileSync('mkfifo', [`${ws}/fifo`])
    for (const act of [
      files.read(`${ws}/fifo`),
      files.write(`${ws}/fifo`, bytes('x')),
      files.write(`${ws}/fifo`, bytes('x'), { append: true }),
    ]) {
      expect(await codeOf(act)).toBe('path_denied')
    }
    expect((await files.stat(`${ws}/fifo`))?.type).toBe('fifo')
    const read: string[] = []
    const all = (async () => {
      for await (const { path } of files.readMany([`${ws}/fifo`])) read.push(path)
    })()
    expect(await codeOf(all)).toBe('path_denied')
    expect(read).toEqual([])
  })

  it('tells a name that ends in " (deleted)" from a file that was removed', async () => {
    writeFileSync(`${ws}/f (deleted)`, 'there')
    expect(await textOf(`${ws}/f (deleted)`)).toBe('there')
    symlinkSync('f (deleted)', `${ws}/l`)
    expect(await textOf(`${ws}/l`)).toBe('there')
  })

  it('carries names of any bytes through list, tree, readMany, writeMany and remove', async () => {
    const component = fc
      .uint8Array({ minLength: 1, maxLength: 12 })
      .map((raw) => Buffer.from(raw.map((byte) => (byte === 0 || byte === 0x2f ? 0x61 : byte))))
      .filter((name) => !name.equals(Buffer.from('.')) && !name.equals(Buffer.from('..')))
    const names = fc.uniqueArray(component, { minLength: 1, maxLength: 8, selector: (name) => name.toString('latin1') })
    await fc.assert(
      fc.asyncProperty(names, async (raw) => {
        const place = mkdtempSync(join(ws, 'run-'))
        for (const name of raw) writeFileSync(Buffer.concat([Buffer.from(`${place}/`), name]), name)
        const listed: string[] = []
        for await (const { name } of files.list(place)) listed.push(name)
        const tree = await treeOf(place)
        expect(listed.map((name) => Buffer.from(encodePath(name)).toString('hex'))).toEqual(
          raw.toSorted(Buffer.compare).map((name) => name.toString('hex')),
        )
        expect(tree.map(({ path }) => path)).toEqual(listed)
        const copies: FileToWrite[] = []
        for await (const { path, stat, content } of files.readMany(listed.map((name) => `${place}/${name}`))) {
          const whole = new Uint8Array(await new Response(content).arrayBuffer())
          copies.push({
            type: 'file',
            path: path.slice(place.length + 1),
            mode: stat.mode,
            sizeBytes: whole.length,
            content: whole,
          })
        }
        const copy = mkdtempSync(join(ws, 'copy-'))
        await files.writeMany(copies, copy)
        for (const name of raw) expect(readFileSync(Buffer.concat([Buffer.from(`${copy}/`), name]))).toEqual(name)
        await files.remove(place, { recursive: true })
        await files.remove(copy, { recursive: true })
      }),
      { numRuns: 60 },
    )
    expect(readdirSync(ws)).toEqual([])
  })

  it('goes through deep trees with few descriptors, and leaves none open', async () => {
    const depth = 400
    await files.mkdir(`${ws}/${'d/'.repeat(depth)}`, { recursive: true })
    const before = openDescriptors()
    let seen = 0
    let most = 0
    for await (const { path } of files.tree(ws)) {
      most = Math.max(most, openDescriptors())
      expect(path.split('/').length).toBe(++seen)
    }
    expect(seen).toBe(depth)
    expect(most - before).toBeLessThan(24)
    for await (const { path } of files.tree(ws)) if (path.length > 100) break
    await files.remove(`${ws}/d`, { recursive: true })
    expect(readdirSync(ws)).toEqual([])
    expect(openDescriptors()).toBe(before)
  })

  it('leaves no descriptor open, whatever happens', async () => {
    const large = new Uint8Array(1 << 20)
    await files.write(`${ws}/large`, large)
    await files.write(`${ws}/small`, bytes('x'))
    symlinkSync('/etc', `${ws}/out`)
    symlinkSync('loop', `${ws}/loop`)
    const before = openDescriptors()
    for (let round = 0; round < 20; round++) {
      for (const path of [
        'large',
        'small',
        'none',
        'out',
        'out/passwd',
        'loop',
        'loop/x',
        'small/x',
        '../x',
        'none/none',
      ]) {
        for (const act of [
          files.read(`${ws}/${path}`).then((stream) => stream.cancel()),
          files.stat(`${ws}/${path}`),
          files.readlink(`${ws}/${path}`),
          files.write(`${ws}/${path}/x`, bytes('x')),
          files.mkdir(`${ws}/${path}`),
          files.rename(`${ws}/${path}`, `${ws}/out/x`),
          files.remove(`${ws}/out/${path}`, { recursive: true }),
          files.writeMany([{ type: 'hardlink', path: 'h', linkTarget: path }], ws),
          (await files.read(`${ws}/large`)).getReader().read(),
        ]) {
          await act.catch(() => undefined)
        }
        rmSync(`${ws}/none`, { recursive: true, force: true })
        rmSync(`${ws}/h`, { force: true })
      }
      for await (const _file of files.readMany([`${ws}/large`, `${ws}/none`, `${ws}/small`])) if (round % 2 === 0) break
    }
    // The streams of which one chunk was read and nothing more are the only ones that may be open.
    expect(openDescriptors() - before).toBe(200)
  })

  it('is led nowhere by a directory that turns into a link and back', { timeout: 60_000 }, async () => {
    const outside = join(base, 'outside')
    mkdirSync(outside)
    mkdirSync(`${ws}/door`)
    writeFileSync(`${outside}/f`, 'secret')
    writeFileSync(`${ws}/door/f`, 'inside')
    const seen = new Map<string, number>()
    const controller = new AbortController()
    const swapping = runDriver(new URL('./swap-link.driver.ts', import.meta.url), {
      args: [base],
      onLine: (_line, pid) => controller.signal.addEventListener('abort', () => process.kill(pid, 'SIGKILL')),
    })
    const canary = (): unknown =>
      readdirSync(outside).map((name) => [
        name,
        lstatSync(`${outside}/${name}`).ino,
        readFileSync(`${outside}/${name}`, 'utf8'),
      ])
    const before = canary()
    while (!readdirSync(base).includes('link')) await new Promise((resolve) => setTimeout(resolve, 5))
    const end = performance.now() + 4000
    for (let round = 0; performance.now() < end; round++) {
      const outcomes = [
        await textOf(`${ws}/door/f`).catch((error: unknown) => (isSandboxError(error) ? error.code : String(error))),
        await codeOf(files.write(`${ws}/door/f`, bytes('inside'))),
        await codeOf(files.write(`${ws}/door/new-${round}`, bytes('inside'))),
        await codeOf(files.remove(`${ws}/door/new-${round}`)),
        await codeOf(files.mkdir(`${ws}/door/d`)),
        await codeOf(files.remove(`${ws}/door/d`, { recursive: true })),
        await codeOf(files.chmod(`${ws}/door/f`, 0o600)),
        await codeOf(
          files.writeMany([{ type: 'file', path: 'door/m', mode: 0o600, sizeBytes: 6, content: bytes('inside') }], ws),
        ),
      ]
      for (const outcome of outcomes) seen.set(outcome, (seen.get(outcome) ?? 0) + 1)
    }
    controller.abort()
    expect((await swapping).signal).toBe('SIGKILL')
    expect(canary()).toEqual(before)
    expect(seen.has('secret')).toBe(false)
    // Both sides of the door were really met.
    expect(seen.get('path_escape') ?? 0).toBeGreaterThan(0)
    expect(seen.get('ok') ?? 0).toBeGreaterThan(0)
  })

  const canMount = isLinux && spawnSync('unshare', ['-m', 'true']).status === 0

  it.runIf(canMount)('enters no mount, writes mounted files in place, and leaves nothing on a full disk', async () => {
    for (const folder of ['outside', 'ws/dir', 'ws/small', 'ws/above']) mkdirSync(join(base, folder))
    for (const file of ['outside/file', 'ws/file', 'ws/plain']) writeFileSync(join(base, file), 'old')
    mkdirSync(join(base, 'outside/deep'))
    const end = await runDriver(new URL('./mounts.driver.ts', import.meta.url), { args: [base] })
    expect(end.stderr).toBe('')
    expect(JSON.parse(end.stdout)).toEqual({
      tree: ['above', 'dir', 'plain', 'small'],
      'remove the mount': 'path_denied',
      'remove above': 'ok',
      'remove the file': 'path_denied',
      'rename over the file': 'path_denied',
      'write many into the mount': 'path_denied',
      'write the file': 'ok',
      'same inode': true,
      file: 'in place',
      'stream the file': 'streamed in place',
      'too much': 'no_space',
      'too much appended': 'no_space',
      'too much by writeMany': 'no_space',
      'left of it': ['old'],
      old: 'old',
      'left in the workspace': ['dir', 'file', 'plain', 'small'],
    })
  })
})

describe('removeHostTree', () => {
  it('removes what its permissions protect, follows nothing, and takes absence for success', async () => {
    mkdirSync(`${ws}/t/a/b`, { recursive: true })
    writeFileSync(`${base}/kept`, 'kept')
    symlinkSync(base, `${ws}/t/a/out`)
    writeFileSync(`${ws}/t/a/b/f`, '')
    chmodSync(`${ws}/t/a/b`, 0o500)
    chmodSync(`${ws}/t/a`, 0)
    await removeHostTree(`${ws}/t`)
    await removeHostTree(`${ws}/t`)
    expect(readdirSync(ws)).toEqual([])
    expect(readFileSync(`${base}/kept`, 'utf8')).toBe('kept')
    unlinkSync(`${base}/kept`)
  })
})
