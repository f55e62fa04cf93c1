import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { SandboxEventBody } from '../contracts/observer.js'
import type { ManifestInput } from '../manifest/manifest.js'
import { parseManifest } from '../manifest/parse-manifest.js'
import { emptyWorkspace } from './empty-workspace.js'
import { materialize } from './materialize.js'
import type { MaterializeRequest } from './materialize.js'
import { openTestSandbox } from './test-sandbox.fixture.js'
import type { TestSandbox } from './test-sandbox.fixture.js'
import { readTree, writeTree } from './workspace-tree.fixture.js'

let box: TestSandbox
let baseDir: string
let events: SandboxEventBody[]

beforeEach(async () => {
  box = await openTestSandbox()
  baseDir = mkdtempSync(join(tmpdir(), 'cofferdam-base-'))
  events = []
})

afterEach(async () => {
  await box[Symbol.asyncDispose]()
  rmSync(baseDir, { recursive: true })
})

function fill(manifest: ManifestInput, more: Partial<MaterializeRequest> = {}): Promise<void> {
  return materialize({
    sandbox: box.sandbox,
    manifest: parseManifest(manifest),
    select: 'all',
    hostAccess: { baseDir, grants: [] },
    secrets: () => Promise.reject(new TypeError('no secrets here')),
    emit: (event) => events.push(event),
    ...more,
  })
}

const tree = (): Record<string, string> => readTree(box.workspace)
const applied = (): string[] => events.flatMap((event) => (event.type === 'entry.applied' ? [event.path] : []))
const skipped = (): string[] => events.flatMap((event) => (event.type === 'entry.skipped' ? [event.path] : []))

describe('materialize', () => {
  it('makes entries with exactly their modes, whatever the umask, parents first', async () => {
    const umask = process.umask(0o077)
    try {
      await fill({
        entries: {
          'run.sh': { kind: 'file', text: '#!/bin/sh\n', mode: '0775' },
          'bin.dat': { kind: 'file', base64: Buffer.from('\u00ff').toString('base64') },
          'a/b/c': { kind: 'file', text: 'c' },
          secret: { kind: 'dir', mode: 0o700, children: { key: { kind: 'file', text: 'k', mode: '0600' } } },
          latest: { kind: 'symlink', target: 'a/b' },
        },
      })
    } finally {
      process.umask(umask)
    }
    expect(tree()).toEqual({
      a: '755/',
      'a/b': '755/',
      'a/b/c': '644 c',
      'bin.dat': '644 \u00ff',
      latest: '-> a/b',
      'run.sh': '775 #!/bin/sh\n',
      secret: '700/',
      'secret/key': '600 k',
    })
    expect(applied()).toEqual(['a/b/c', 'bin.dat', 'latest', 'run.sh', 'secret', 'secret/key'])
    expect(events.at(-1)).toMatchObject({ done: 6, of: 6 })
    expect(readTree(box.control)['materialize']).toBeUndefined()
  })

  it('copies host directories with modes and links, without what is excluded, and puts entries over them', async () => {
    writeTree(join(baseDir, 'project'), {
      '.gitignore': '644 dist\n',
      'src/main.ts': '644 main',
      'src/run': '755 run',
      'src/link': '-> ../README.md',
      'README.md': '600 read me',
      'node_modules/x/index.js': '644 x',
      'debug.log': '644 log',
      empty: '700/',
    })
    await fill({
      entries: {
        project: { kind: 'local_dir', source: 'project', exclude: ['node_modules/', '*.log'] },
        'project/.env': { kind: 'file', text: 'A=1', mode: '600' },
        'project/README.md': { kind: 'file', text: 'over it' },
        'copied.md': { kind: 'local_file', source: 'project/README.md' },
        'shared.md': { kind: 'local_file', source: join(baseDir, 'project/README.md'), mode: '644' },
      },
    })
    expect(tree()).toEqual({
      'copied.md': '600 read me',
      project: '755/',
      'project/.env': '600 A=1',
      'project/.gitignore': '644 dist\n',
      'project/README.md': '644 over it',
      'project/empty': '700/',
      'project/src': '755/',
      'project/src/link': '-> ../README.md',
      'project/src/main.ts': '644 main',
      'project/src/run': '755 run',
      'shared.md': '644 read me',
    })
  })

  it('fills the root itself, and streams what is large', async () => {
    const large = 'x'.repeat(3_000_000)
    writeTree(join(baseDir, 'all'), { 'a/large': `644 ${large}`, b: '644 b' })
    writeTree(box.workspace, { 'there/already': '644 kept' })
    await fill({ entries: { '.': { kind: 'local_dir', source: 'all' }, c: { kind: 'file', text: 'c' } } })
    expect(tree()).toEqual({
      a: '755/',
      'a/large': `644 ${large}`,
      b: '644 b',
      c: '644 c',
      there: '755/',
      'there/already': '644 kept',
    })
  })

  it('makes ephemeral entries anew and leaves the rest', async () => {
    const manifest: ManifestInput = {
      entries: {
        tmp: { kind: 'dir', ephemeral: true },
        src: { kind: 'dir', children: { 'token.txt': { kind: 'file', text: 'today', ephemeral: true } } },
        'src/main': { kind: 'file', text: 'first' },
      },
    }
    await fill(manifest)
    rmSync(join(box.workspace, 'src/token.txt'))
    writeTree(box.workspace, { 'src/main': '644 edited', 'tmp/junk': '644 junk', 'src/token.txt/x': '644 x' })
    events = []
    await fill(manifest, { select: 'ephemeral' })
    expect(tree()).toEqual({
      src: '755/',
      'src/main': '644 edited',
      'src/token.txt': '644 today',
      tmp: '755/',
    })
    expect(applied()).toEqual(['src/token.txt', 'tmp'])
    expect(readTree(box.control)['materialize']).toBeUndefined()
  })

  it('adds to a restored workspace what it does not hold, and overwrites only what says so', async () => {
    writeTree(join(baseDir, 'lib'), { 'v.txt': '644 new', '.env': '644 from the source' })
    writeTree(box.workspace, {
      notes: '644 of the agent',
      config: '644 old',
      'lib/v.txt': '644 old',
      'lib/mine': '644 lost on purpose',
      dir: '700/',
      'dir/x': '644 x',
      blocked: '644 a file now',
    })
    await fill(
      {
        entries: {
          notes: { kind: 'file', text: 'fresh' },
          config: { kind: 'file', text: 'new', onRestore: 'overwrite' },
          lib: { kind: 'local_dir', source: 'lib', onRestore: 'overwrite' },
          'lib/.env': { kind: 'file', text: 'on top' },
          dir: { kind: 'dir', onRestore: 'overwrite' },
          'dir/y': { kind: 'file', text: 'y' },
          'blocked/z': { kind: 'file', text: 'z' },
        },
      },
      { select: 'missing' },
    )
    expect(tree()).toEqual({
      blocked: '644 a file now',
      config: '644 new',
      dir: '755/',
      'dir/x': '644 x',
      'dir/y': '644 y',
      lib: '755/',
      'lib/.env': '644 on top',
      'lib/v.txt': '644 new',
      notes: '644 of the agent',
    })
    expect(skipped()).toEqual(['blocked/z'])
  })

  it('leaves everything as it was when an entry fails, wherever that is', async () => {
    writeTree(join(baseDir, 'good'), { 'a/b': '644 b', c: '644 c' })
    const names = ['a', 'k', 'z'] as const
    const entry = fc.constantFrom<ManifestInput['entries'] & object>(
      { x: { kind: 'file', text: 'new' } },
      { x: { kind: 'dir', mode: '0711', children: { deep: { kind: 'file', text: 'd' } } } },
      { x: { kind: 'local_dir', source: 'good' } },
      { 'x/y/z': { kind: 'local_dir', source: 'good' } },
      { x: { kind: 'symlink', target: 'elsewhere' } },
    )
    const before = fc.constantFrom({}, { x: '644 old' }, { x: '750/', 'x/a/c': '644 mine' }, { x: '-> nowhere' })
    const hold = fc.asyncProperty(
      fc.tuple(entry, entry, entry),
      fc.tuple(before, before, before),
      fc.constantFrom(...names, 'middle'),
      fc.constantFrom('all' as const, 'ephemeral' as const, 'missing' as const),
      async (entries, befores, failing, select) => {
        await emptyWorkspace(box.sandbox, { keep: [] })
        names.forEach((name, i) => {
          mkdirSync(join(box.workspace, name))
          writeTree(join(box.workspace, name), befores[i]!)
        })
        const all: Record<string, NonNullable<ManifestInput['entries']>[string]> = {}
        names.forEach((name, i) => {
          for (const [path, value] of Object.entries(entries[i]!)) {
            const life = select === 'ephemeral' ? { ephemeral: true } : { onRestore: 'overwrite' as const }
            all[`${name}/${path}`] = { ...value, ...life } as typeof value
          }
        })
        all[failing === 'middle' ? 'k/0' : `${failing}/zz`] = { kind: 'local_file', source: 'gone', ephemeral: true }
        const was = tree()
        await expect(fill({ entries: all }, { select })).rejects.toMatchObject({ code: expect.any(String) as string })
        expect(tree()).toEqual(was)
        expect(readTree(box.control)['materialize']).toBeUndefined()
      },
    )
    await fc.assert(hold, { numRuns: 60 })
  })

  it('reads nothing of the host that the application did not grant, and no link that leads out', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'cofferdam-outside-'))
    try {
      writeTree(outside, { secret: '644 secret' })
      writeTree(baseDir, { 'in/x': '644 x', 'out/link': `-> ${outside}/secret`, 'up/link': '-> ../../x' })
      symlinkSync(outside, join(baseDir, 'way-out'))
      const sources = [
        outside,
        join(outside, '../../etc'),
        'way-out',
        '..',
        `in/../../${outside.split('/').at(-1)}`,
        'out',
        'up',
      ]
      for (const source of sources) {
        const manifest: ManifestInput = { entries: { x: { kind: 'local_dir', source } } }
        await expect(fill(manifest), source).rejects.toMatchObject({ code: 'path_escape' })
      }
      for (const source of [join(outside, 'secret'), 'way-out/secret', 'out/link']) {
        const manifest: ManifestInput = { entries: { x: { kind: 'local_file', source } } }
        await expect(fill(manifest), source).rejects.toMatchObject({ code: 'path_escape' })
      }
      expect(tree()).toEqual({})
      const grants = [{ path: outside, access: 'read' as const }]
      await fill({ entries: { x: { kind: 'local_dir', source: outside } } }, { hostAccess: { baseDir, grants } })
      expect(tree()).toEqual({ x: '700/', 'x/secret': '644 secret' })
    } finally {
      rmSync(outside, { recursive: true })
    }
  })

  it('refuses what the backend cannot do before it touches anything, or says that it was left out', async () => {
    expect(box.sandbox.features).toMatchObject({ users: false, bindMounts: false })
    const entries = { a: { kind: 'file', text: 'a' }, b: { kind: 'file', text: 'b', owner: 'ada' } } as const
    await expect(fill({ entries })).rejects.toMatchObject({
      code: 'unsupported_feature',
      details: { feature: 'users' },
    })
    await expect(fill({ users: ['ada'] })).rejects.toMatchObject({ code: 'unsupported_feature' })
    const mount = { kind: 'bind_mount', source: '.' } as const
    await expect(fill({ entries: { mount } })).rejects.toMatchObject({ details: { feature: 'bindMounts' } })
    expect(tree()).toEqual({})
    await fill({
      entries: {
        a: entries.a,
        b: { ...entries.b, ifUnsupported: 'skip' },
        mount: { ...mount, ifUnsupported: 'skip' },
      },
      users: [{ name: 'ada', ifUnsupported: 'skip' }],
    })
    expect(tree()).toEqual({ a: '644 a' })
    expect(skipped()).toEqual(['ada', 'b', 'mount'])
  })

  it('stops at the signal and leaves nothing', async () => {
    const signal = AbortSignal.abort()
    const manifest: ManifestInput = { entries: { a: { kind: 'file', text: 'a' } } }
    await expect(fill(manifest, { signal })).rejects.toMatchObject({ code: 'aborted' })
    expect(tree()).toEqual({})
  })
})

describe('emptyWorkspace', () => {
  it('removes all but what is kept and the way to it', async () => {
    writeTree(box.workspace, {
      'a/b/mount/x': '644 x',
      'a/b/other': '644 o',
      'a/c': '644 c',
      'ab/mount': '644 m',
      d: '-> a',
    })
    await emptyWorkspace(box.sandbox, { keep: ['a/b/mount'] })
    expect(tree()).toEqual({ a: '755/', 'a/b': '755/', 'a/b/mount': '755/', 'a/b/mount/x': '644 x' })
    await emptyWorkspace(box.sandbox, { keep: [] })
    expect(tree()).toEqual({})
  })
})
