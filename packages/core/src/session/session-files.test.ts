import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { SandboxSession } from '@cofferdam/core'
import { createMemoryClient, createMemoryWorld } from '@cofferdam/testkit'
import { testPlace } from '../acquire/test-host.fixture.js'
import type { TestPlace } from '../acquire/test-host.fixture.js'
import type { Sandbox } from '../contracts/sandbox.js'
import type { SessionFiles } from '../contracts/session.js'
import { createSessionFiles } from './session-files.js'

let place: TestPlace
let session: SandboxSession
let files: SessionFiles

beforeAll(async () => {
  place = await testPlace()
  session = await (await place.host()).acquire()
  files = session.files
})
beforeEach(async () => {
  for (const { name } of await files.list()) await files.remove(name, { recursive: true })
})
afterAll(() => place.remove())

async function fill(tree: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(tree)) await files.write(path, text)
}

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)

describe('files of a session', () => {
  it('are written with their parents, from text, bytes and streams, and read back', async () => {
    await files.write('a/b/text.txt', 'grüße')
    await files.write(`${session.workspaceRoot}/a/c/bytes`, bytes(0, 255))
    await files.write('d/stream', new Blob(['one ', 'two']).stream())
    await files.append('d/stream', ' three')
    await files.append('new/log', 'first')
    expect(await files.readText('a/b/text.txt')).toBe('grüße')
    expect(await files.read('a/c/bytes')).toEqual(bytes(0, 255))
    expect(await files.readText('d/stream')).toBe('one two three')
    expect(await files.readText('new/log')).toBe('first')
    expect(await new Response(await files.readStream('d/stream', { offset: 4, length: 3 })).text()).toBe('two')
    expect((await files.list('a')).map(({ name, type }) => `${name} ${type}`)).toEqual(['b directory', 'c directory'])
    expect([await files.exists('a/b'), await files.exists('nowhere/x')]).toEqual([true, false])
  })

  it('are not read whole when they are larger than allowed', async () => {
    await files.write('large', new Uint8Array(5_000))
    await expect(files.read('large', { maxBytes: 4_999 })).rejects.toMatchObject({ code: 'quota_exceeded' })
    expect(await files.read('large', { maxBytes: 5_000 })).toHaveLength(5_000)
  })

  it('are edited one after the other, with byte order mark, line ends and mode kept', async () => {
    await files.write('script', '\ufeffone\r\ntwo\r\nthree\r\n', { mode: 0o750 })
    const words = ['one', 'two', 'three'].map((word) =>
      files.edit('script', { oldText: word, newText: `${word}\nand` }),
    )
    expect(await Promise.all(words)).toEqual([{ replacements: 1 }, { replacements: 1 }, { replacements: 1 }])
    expect(await files.readText('script')).toBe('\ufeffone\r\nand\r\ntwo\r\nand\r\nthree\r\nand\r\n')
    expect((await files.stat('script'))?.mode).toBe(0o750)
    await expect(files.edit('script', { oldText: 'four', newText: '' })).rejects.toMatchObject({
      code: 'invalid_argument',
    })
    await files.write('bytes', bytes(0x61, 0xff))
    await expect(files.edit('bytes', { oldText: 'a', newText: 'b' })).rejects.toMatchObject({
      code: 'invalid_argument',
    })
    expect(await files.read('bytes')).toEqual(bytes(0x61, 0xff))
  })

  it('are moved and removed, but the workspace stays', async () => {
    await fill({ 'a/b/c': '1', 'x/y': '2' })
    await files.rename('a/b', 'new/place/b')
    expect(await files.readText('new/place/b/c')).toBe('1')
    await files.remove('not/there', { force: true })
    await expect(files.remove('not-there')).rejects.toMatchObject({ code: 'not_found' })
    for (const path of ['.', '', './/', session.workspaceRoot, 'x/..', 'new/place/../..']) {
      const refused: unknown = await files
        .remove(path, { recursive: true, force: true })
        .catch((error: unknown) => error)
      expect(refused, path).toMatchObject({
        code: path === '' || path.endsWith('..') ? 'invalid_argument' : 'path_denied',
      })
    }
    await expect(files.rename('x', '.')).rejects.toMatchObject({ code: 'path_denied' })
    await expect(files.rename('.', 'x/z')).rejects.toMatchObject({ code: 'path_denied' })
    expect((await files.glob('**')).paths).toEqual(['new/place/b/c', 'x/y'])
  })

  it('lie in the workspace alone', async () => {
    for (const path of ['../outside', '/etc/passwd', 'a/../../b']) {
      for (const use of [files.read(path), files.write(path, ''), files.list(path), files.glob('*', { cwd: path })]) {
        await expect(use).rejects.toMatchObject({ code: 'path_escape', details: { path } })
      }
    }
  })

  it.each([
    ['read', { maxBytes: -1 }],
    ['readStream', { offset: 0.5 }],
    ['glob', { limit: Number.NaN }],
    ['grep', { context: -1 }],
  ] as const)('refuses numbers that are none: %s', async (method, options) => {
    await fill({ a: 'text' })
    await expect(
      (files[method] as (path: string, given: object) => Promise<unknown>)('a', options),
    ).rejects.toMatchObject({
      code: 'invalid_argument',
    })
  })
})

describe('what the files of a session do not reach', () => {
  let sandbox: Sandbox
  let scoped: SessionFiles
  beforeAll(async () => {
    const client = createMemoryClient(createMemoryWorld())
    sandbox = await client.create({
      name: 'scoped',
      identity: { deployment: 'test', slotHash: '0', sessionId: 'scoped' },
      workspaceRoot: '/workspace',
      environment: {},
      mounts: [],
      limits: { memoryBytes: null, cpus: null, pids: null, diskBytes: null },
      network: { kind: 'none' },
      users: 'off',
      entrypoint: 'ignore',
      fromNative: null,
      requires: {},
    })
    await sandbox.start({ fence: 1n })
    for (const folder of ['data', 'data/inner', 'own']) await sandbox.files.mkdir(`/workspace/${folder}`)
    await sandbox.files.write('/workspace/data/inner/file', Buffer.from('of the host'))
    const hidden = `${sandbox.paths.workspace}/own`
    scoped = createSessionFiles({
      redact: (text) => text,
      files: sandbox.files,
      scope: {
        workspaceRoot: '/workspace',
        mounts: [
          { path: '/workspace/data', readOnly: true },
          { path: sandbox.paths.control, readOnly: false },
        ],
      },
      hidden: [sandbox.paths.control, hidden],
      assertUsable: () => undefined,
    })
    await sandbox.files.write(`${hidden}/secret`, Buffer.from('marker'))
    await sandbox.files.write(`${sandbox.paths.control}/marker`, Buffer.from('marker'))
  })

  it('is the control folder, by whatever path', async () => {
    const { control } = sandbox.paths
    for (const path of [`${control}/marker`, control, 'own/secret', 'data/../own/secret']) {
      await expect(scoped.read(path), path).rejects.toMatchObject({ code: 'path_denied' })
      await expect(scoped.write(path, ''), path).rejects.toMatchObject({ code: 'path_denied' })
      await expect(scoped.rename('data', path), path).rejects.toMatchObject({ code: 'read_only' })
    }
    expect((await scoped.list()).map(({ name }) => name)).toEqual(['data'])
    expect((await scoped.glob('**', { includeIgnored: true })).paths).toEqual(['data/inner/file'])
    expect((await scoped.grep('marker', { includeIgnored: true })).matches).toEqual([])
  })

  it('is a mount that may only be read, for writing', async () => {
    expect(await scoped.readText('data/inner/file')).toBe('of the host')
    const writes = [
      scoped.write('data/inner/file', ''),
      scoped.append('data/new', ''),
      scoped.edit('data/inner/file', { oldText: 'host', newText: '' }),
      scoped.mkdir('data/new'),
      scoped.remove('data/inner', { recursive: true }),
      scoped.rename('data/inner/file', 'file'),
    ]
    for (const write of writes) await expect(write).rejects.toMatchObject({ code: 'read_only' })
    expect(await scoped.readText('data/inner/file')).toBe('of the host')
  })
})

describe('glob', () => {
  it('gives files in order, as far as the limit, relative to the workspace', async () => {
    await fill({ 'b.ts': '', 'a/z.ts': '', 'a/y.js': '', 'a/deep/x.ts': '', '.hidden.ts': '' })
    expect(await files.glob('**/*.ts')).toEqual({
      paths: ['.hidden.ts', 'a/deep/x.ts', 'a/z.ts', 'b.ts'],
      truncated: false,
    })
    expect(await files.glob('**/*.ts', { limit: 2 })).toEqual({ paths: ['.hidden.ts', 'a/deep/x.ts'], truncated: true })
    expect((await files.glob('*.ts', { cwd: 'a' })).paths).toEqual(['a/z.ts'])
    expect((await files.glob('*', { limit: 0 })).truncated).toBe(true)
  })

  it('leaves out what .gitignore files say, like git', async () => {
    await fill({
      '.git/config': '',
      'sub/.git/config': '',
      '.gitignore': '*.log\n/build\nnode_modules/\n# comment\n\n!kept.log\n',
      'a.log': '',
      'kept.log': '',
      'build/out': '',
      'sub/build/out': '',
      'sub/node_modules/m/index.js': '',
      'sub/.gitignore': '!mine.log\n/local\ndeep/only\n',
      'sub/mine.log': '',
      'sub/other.log': '',
      'sub/local': '',
      'sub/x/local': '',
      'sub/deep/only': '',
      'sub/x/deep/only': '',
      'sub/x/mine.log': '',
      'sub/[x]/.gitignore': 'secret\n',
      'sub/[x]/secret': '',
      'sub/x/secret': '',
    })
    expect((await files.glob('**')).paths).toEqual([
      '.gitignore',
      'kept.log',
      'sub/.gitignore',
      'sub/[x]/.gitignore',
      'sub/build/out',
      'sub/mine.log',
      'sub/x/deep/only',
      'sub/x/local',
      'sub/x/mine.log',
      'sub/x/secret',
    ])
    expect((await files.glob('**', { includeIgnored: true })).paths).toHaveLength(19)
  })

  it('finds directories that a file further down takes back, also several times', async () => {
    await fill({
      '.gitignore': 'out/\n',
      'sub/.gitignore': '!out/\n',
      'sub/out/.gitignore': 'inner/\n',
      'sub/out/a': '',
      'sub/out/inner/b': '',
      'sub/out/x/.gitignore': '!inner/\n',
      'sub/out/x/inner/c': '',
      'out/d': '',
    })
    const { paths } = await files.glob('**/?')
    expect(paths).toEqual(['sub/out/a', 'sub/out/x/inner/c'])
  })

  it('knows what is said above the directory it looks beneath, unless that directory is ignored itself', async () => {
    await fill({
      '.gitignore': 'dist\n*.tmp\n/vendor\n',
      'app/src/a.ts': '',
      'app/src/a.tmp': '',
      'app/src/dist/b.ts': '',
      'vendor/lib/c.ts': '',
      'vendor/lib/c.tmp': '',
      'vendor/lib/.gitignore': 'd.ts\n',
      'vendor/lib/d.ts': '',
    })
    expect((await files.glob('**', { cwd: 'app/src' })).paths).toEqual(['app/src/a.ts'])
    const { paths } = await files.glob('**', { cwd: 'vendor/lib' })
    expect(paths).toEqual(['vendor/lib/.gitignore', 'vendor/lib/c.tmp', 'vendor/lib/c.ts'])
  })

  it('does without a .gitignore that cannot be used', async () => {
    await fill({ '.gitignore': `\0\n${'x'.repeat(5_000)}\n[z-a]\nused\n`, used: '', unused: '' })
    expect((await files.glob('*')).paths).toEqual(['.gitignore', 'unused'])
  })
})

describe('grep', () => {
  it('gives lines with what is around them, in order', async () => {
    await fill({ 'b.txt': 'one\r\ntwo\r\nthree\r\nfour', 'a/a.txt': 'two\n', 'c.md': 'two' })
    expect(await files.grep('^t[wh]', { context: 1, glob: '**/*.txt' })).toEqual({
      matches: [
        { path: 'a/a.txt', line: 1, text: 'two', before: [], after: [] },
        { path: 'b.txt', line: 2, text: 'two', before: ['one'], after: ['three'] },
        { path: 'b.txt', line: 3, text: 'three', before: ['two'], after: ['four'] },
      ],
      truncated: false,
      filesSearched: 2,
      filesSkipped: 0,
    })
    expect((await files.grep('two', { cwd: 'a' })).matches.map(({ path }) => path)).toEqual(['a/a.txt'])
  })

  it('takes expressions as models write them, plain text as it stands, and either case', async () => {
    await fill({ text: 'a-b\na.b\nA.B\nÄ🦜z\n' })
    const linesOf = async (pattern: string, options = {}): Promise<number[]> =>
      (await files.grep(pattern, options)).matches.map(({ line }) => line)
    expect(await linesOf('a\\-b')).toEqual([1])
    expect(await linesOf('a.b')).toEqual([1, 2])
    expect(await linesOf('a.b', { literal: true })).toEqual([2])
    expect(await linesOf('a.b', { literal: true, ignoreCase: true })).toEqual([2, 3])
    expect(await linesOf('ä.z', { ignoreCase: true })).toEqual([4])
    await expect(files.grep('a(b')).rejects.toMatchObject({
      code: 'invalid_argument',
      details: { argument: 'pattern' },
    })
    await expect(files.grep('')).rejects.toMatchObject({ code: 'invalid_argument' })
  })

  it('ends a pattern that would take forever, and goes on working', async () => {
    await fill({ text: `${'a'.repeat(40)}!` })
    const startedMs = performance.now()
    await expect(files.grep('^(a+)+$', { timeoutMs: 200 })).rejects.toMatchObject({
      code: 'timeout',
      details: { timeoutMs: 200 },
      retryable: false,
    })
    expect(performance.now() - startedMs).toBeLessThan(5_000)
    expect((await files.grep('^a+!$')).matches).toHaveLength(1)
  })

  it('is given up when its signal fires', async () => {
    await fill({ text: `${'a'.repeat(40)}!` })
    const controller = new AbortController()
    const search = files.grep('^(a+)+$', { signal: controller.signal, timeoutMs: 60_000 })
    setImmediate(() => controller.abort(new Error('enough')))
    await expect(search).rejects.toMatchObject({ code: 'aborted' })
    await expect(files.grep('a', { signal: controller.signal })).rejects.toMatchObject({ code: 'aborted' })
    await expect(files.glob('*', { signal: controller.signal })).rejects.toMatchObject({ code: 'aborted' })
  })

  it('skips binary files and large ones, and counts them', async () => {
    await fill({ text: 'needle' })
    await files.write('binary', Buffer.concat([Buffer.from('needle'), bytes(0)]))
    await files.write('large', new Uint8Array(16 * 1024 * 1024 + 1).fill(0x61))
    expect(await files.grep('needle')).toMatchObject({
      matches: [{ path: 'text' }],
      filesSearched: 1,
      filesSkipped: 2,
    })
  })

  it('stops at the limit and says that there is more', async () => {
    await fill({ a: 'x\n'.repeat(5), b: 'x\n' })
    const lines = async (limit: number): Promise<readonly [number, boolean]> => {
      const { matches, truncated } = await files.grep('x', { limit })
      return [matches.length, truncated]
    }
    expect([await lines(4), await lines(5), await lines(6), await lines(7)]).toEqual([
      [4, true],
      [5, true],
      [6, false],
      [6, false],
    ])
  })

  it('shows of a long line what is around the match, and never half a character', async () => {
    await fill({ min: `${'🦜'.repeat(700)}needle${'🦜'.repeat(700)}` })
    for (const options of [{}, { literal: true }]) {
      const { matches } = await files.grep('n..dle'.replaceAll('.', 'e'), options)
      const text = matches[0]?.text ?? ''
      expect(text.length).toBeLessThanOrEqual(500)
      expect(text).toMatch(/^…🦜+needle🦜+…$/u)
    }
  })

  it('finds by expression and by text the same lines', async () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'ä', ' '), minLength: 1, maxLength: 2 })
    const lines = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'ä', ' ', '\r'), maxLength: 5 }), {
      maxLength: 8,
    })
    await fc.assert(
      fc.asyncProperty(word, lines, async (wanted, content) => {
        await files.write('text', content.join('\n'))
        const plain = await files.grep(wanted, { literal: true })
        expect(await files.grep(`(?:${wanted})`)).toEqual(plain)
        expect(plain.matches.map(({ text }) => text)).toEqual(
          plain.matches.map(({ text }) => text).filter((text) => text.includes(wanted)),
        )
      }),
      { numRuns: 15 },
    )
  })
})
