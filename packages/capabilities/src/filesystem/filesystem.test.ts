import { describe, expect, it } from 'vitest'
import { BACKENDS, digestWorkspace, openBench, SECRET } from '../open-session.fixture.js'
import type { Bench } from '../open-session.fixture.js'
import type { FileAccess } from './file-tools.js'
import { filesystem } from './filesystem-capability.js'
import type { FilesystemOptions } from './filesystem-capability.js'

const MANIFEST = {
  entries: {
    'src/app.ts': { kind: 'file', text: 'export const port = 80\n\nexport function run() {\n  return port\n}\n' },
    'src/old.ts': { kind: 'file', text: 'gone\n' },
    'docs/guide.md': { kind: 'file', text: '# Guide\r\n\r\nport 80\r\n' },
    'notes.txt': { kind: 'file', text: 'last line without an end' },
    'ignored.log': { kind: 'file', text: 'port 80\n' },
    '.gitignore': { kind: 'file', text: '*.log\n' },
    'run.sh': { kind: 'file', text: 'echo hi\n', mode: 0o755 },
  },
  environment: { TOKEN: { secret: 'ci/token' } },
} as const

const patch = (...lines: string[]): { patch: string } => ({
  patch: ['*** Begin Patch', ...lines, '*** End Patch'].join('\n'),
})

describe.each(BACKENDS)('filesystem on %s', (_name, plugin) => {
  const open = (options?: FilesystemOptions): Promise<Bench> =>
    openBench(plugin(), [filesystem(options)], { manifest: MANIFEST })

  it('reads windows of lines and says where they lie', async () => {
    await using bench = await open({ maxOutputBytes: 2_048 })
    expect((await bench.call('read_file', { path: 'src/app.ts' })).text).toBe(
      'src/app.ts: lines 1-5 of 5\nexport const port = 80\n\nexport function run() {\n  return port\n}',
    )
    const window = await bench.call('read_file', { path: 'src/app.ts', offset: 3, limit: 2 })
    expect(window.text).toBe(
      'src/app.ts: lines 3-4 of 5; read on with offset 5\nexport function run() {\n  return port',
    )
    expect(window.facts).toEqual({
      path: 'src/app.ts',
      startLine: 3,
      endLine: 4,
      totalLines: 5,
      text: 'export function run() {\n  return port',
    })
    expect((await bench.call('read_file', { path: 'src/app.ts', offset: 9 })).facts).toMatchObject({
      code: 'out_of_range',
      totalLines: 5,
    })

    await bench.session.files.write(
      'big.txt',
      Array.from({ length: 500 }, (_, index) => `line ${index + 1}\n`).join(''),
    )
    const read: string[] = []
    for (let offset = 1; offset <= 500;) {
      const part = await bench.call('read_file', { path: 'big.txt', offset })
      expect(Buffer.byteLength(part.text)).toBeLessThanOrEqual(2_048)
      read.push(...String(part.facts.text).split('\n'))
      offset = Number(part.facts.endLine) + 1
    }
    expect(read).toEqual(Array.from({ length: 500 }, (_, index) => `line ${index + 1}`))
  })

  it('cuts long lines and refuses what is not text', async () => {
    await using bench = await open()
    const { files } = bench.session
    await files.write('long.txt', `${'x'.repeat(3_000)}\nshort\n`)
    await files.write('empty.txt', '')
    await files.write('data.bin', new Uint8Array([1, 0, 2]))
    await files.write('latin.txt', new Uint8Array([0x63, 0xe9, 0x0a]))
    expect((await bench.call('read_file', { path: 'long.txt' })).text).toContain('x [… 1000 more characters]\nshort')
    expect((await bench.call('read_file', { path: 'empty.txt' })).text).toBe('empty.txt is empty.')
    expect((await bench.call('read_file', { path: 'data.bin' })).facts).toMatchObject({
      code: 'binary_file',
      sizeBytes: 3,
    })
    expect((await bench.call('read_file', { path: 'latin.txt' })).text).toContain('c\uFFFD')
  })

  it('answers to paths that lead nowhere, out, or to the wrong kind, and throws at none', async () => {
    await using bench = await open()
    const codes = async (name: string, input: object): Promise<unknown[]> => {
      const paths = ['missing.txt', '../../etc/passwd', '/etc/passwd', 'src', 'src/app.ts/x', 'a\0b', '']
      const results = paths.map(async (path) => {
        const call = bench.call(name, { ...input, path })
        return call.then(
          ({ ok, facts }) => (ok ? 'ok' : facts.code),
          (error: { code?: string }) => error.code,
        )
      })
      return Promise.all(results)
    }
    const before = await digestWorkspace(bench.session)
    const wrong = [
      'path_escape',
      'path_escape',
      'is_a_directory',
      'not_a_directory',
      'invalid_argument',
      'tool_input_invalid',
    ]
    expect(await codes('read_file', {})).toEqual(['not_found', ...wrong])
    expect(await codes('view_image', {})).toEqual(['not_found', ...wrong])
    expect(await codes('edit_file', { old_text: 'a', new_text: 'b' })).toEqual(['not_found', ...wrong])
    expect((await codes('write_file', { content: 'x' })).slice(1)).toEqual(wrong)
    await bench.session.files.remove('missing.txt')
    expect(await codes('list_files', {})).toEqual([
      'not_found',
      'path_escape',
      'path_escape',
      'ok',
      'not_a_directory',
      'invalid_argument',
      'tool_input_invalid',
    ])
    expect(await digestWorkspace(bench.session)).toEqual(before)
  })

  it('writes and edits', async () => {
    await using bench = await open()
    const made = await bench.call('write_file', { path: 'new/deep/file.txt', content: 'é\n' })
    expect(made.facts).toEqual({ path: 'new/deep/file.txt', created: true, sizeBytes: 3 })
    expect((await bench.call('write_file', { path: 'run.sh', content: 'echo ho\n' })).facts.created).toBe(false)
    expect((await bench.session.files.stat('run.sh'))?.mode).toBe(0o755)

    const edit = { path: 'docs/guide.md', old_text: '# Guide\n\nport 80', new_text: '# Guide\n\nport 81' }
    expect((await bench.call('edit_file', edit)).facts).toEqual({ path: 'docs/guide.md', replacements: 1 })
    expect(await bench.session.files.readText('docs/guide.md')).toBe('# Guide\r\n\r\nport 81\r\n')
    const twice = { path: 'src/app.ts', old_text: 'port', new_text: 'PORT' }
    expect((await bench.call('edit_file', twice)).facts).toMatchObject({
      code: 'edit_conflict',
      reason: expect.stringContaining('replace_all') as string,
    })
    expect((await bench.call('edit_file', { ...twice, replace_all: true })).facts.replacements).toBe(4)
  })

  it('lists level by level, and finds by path and by line', async () => {
    await using bench = await open()
    expect((await bench.call('list_files', {})).text).toBe(
      '.: 6 entries\n.gitignore\ndocs/\nignored.log\nnotes.txt\nrun.sh\nsrc/',
    )
    const deep = await bench.call('list_files', { depth: 3, limit: 7 })
    expect(deep.facts).toMatchObject({ truncated: true })
    expect(deep.text).toBe(
      '.: 7 entries, and there are more\n.gitignore\ndocs/\ndocs/guide.md\nignored.log\nnotes.txt\nrun.sh\nsrc/',
    )
    expect((await bench.call('glob', { pattern: 'src/*.ts' })).facts).toEqual({
      paths: ['src/app.ts', 'src/old.ts'],
      truncated: false,
    })
    const found = await bench.call('grep', { pattern: 'port.*80', context: 1 })
    expect(found.text).toBe(
      '2 matches (6 files searched)\ndocs/guide.md-2- \ndocs/guide.md:3: port 80\nsrc/app.ts:1: export const port = 80\nsrc/app.ts-2- ',
    )
    expect((await bench.call('grep', { pattern: 'port', include_ignored: true, glob: '*.log' })).facts.matches).toEqual(
      [{ path: 'ignored.log', line: 1, text: 'port 80' }],
    )
    expect((await bench.call('grep', { pattern: '(' })).facts.code).toBe('invalid_argument')
  })

  it('shows images by what they are, not by their name', async () => {
    await using bench = await open({ maxImageBytes: 1_000 })
    const { files } = bench.session
    const images = {
      'image/png': Buffer.from('\x89PNG\r\n\x1a\n....', 'latin1'),
      'image/jpeg': Buffer.from('\xff\xd8\xff\xe0....', 'latin1'),
      'image/gif': Buffer.from('GIF89a....', 'latin1'),
      'image/webp': Buffer.from('RIFF....WEBPVP8 ', 'latin1'),
    }
    for (const [mediaType, bytes] of Object.entries(images)) {
      await files.write('picture.txt', bytes)
      const shown = await bench.call('view_image', { path: 'picture.txt' })
      expect(shown.content[1]).toMatchObject({ type: 'image', mediaType })
      expect(shown.content[1]?.type === 'image' && Buffer.from(shown.content[1].bytes)).toEqual(bytes)
      expect(shown.facts).toEqual({ path: 'picture.txt', mediaType, sizeBytes: bytes.length })
    }
    await files.write('fake.png', '<svg/>')
    await files.write('large.png', Buffer.concat([images['image/png'], Buffer.alloc(1_000)]))
    expect((await bench.call('view_image', { path: 'fake.png' })).facts.code).toBe('not_an_image')
    expect((await bench.call('view_image', { path: 'large.png' })).facts.code).toBe('quota_exceeded')
  })

  it('masks secrets in everything it says', async () => {
    await using bench = await open()
    await bench.session.files.write('.env', `TOKEN=${SECRET}\nencoded=${Buffer.from(SECRET).toString('base64')}\n`)
    const said = [
      await bench.call('read_file', { path: '.env' }),
      await bench.call('grep', { pattern: '=' }),
      await bench.call('edit_file', { path: '.env', old_text: SECRET + SECRET, new_text: 'x' }),
      await bench.call('read_file', { path: `${SECRET}.txt` }),
    ]
    const everything = JSON.stringify(said)
    expect(everything).toContain('[redacted]')
    expect(everything).not.toContain(SECRET)
    expect(everything).not.toContain(Buffer.from(SECRET).toString('base64'))
  })

  it('leaves files that are too large to commands', async () => {
    await using bench = await open()
    await bench.session.files.write('lines', 'a\n'.repeat(200_001))
    const patched = await bench.call('apply_patch', patch('*** Update File: lines', '-a', '+b'))
    expect([patched.ok, patched.text]).toEqual([false, expect.stringContaining('more than 200000 lines')])
    await bench.session.files.write('many', 'a\n'.repeat(100_000))
    const hunks = Array.from({ length: 300 }, () => ['@@', '-a', '+b']).flat()
    expect((await bench.call('apply_patch', patch('*** Update File: many', ...hunks))).text).toContain('too many hunks')
    await bench.session.files.write('large', '\n'.repeat(16 * 1024 * 1024 + 1))
    expect(await bench.call('read_file', { path: 'large' })).toMatchObject({ ok: false })
  })

  it('masks a secret that lies across the cut of a long line', async () => {
    await using bench = await open()
    // Both ends of what grep shows of a line, at every place within the secret.
    const lines = Array.from({ length: SECRET.length }, (_, at) => [
      `${'y'.repeat(600)}${SECRET}${'z'.repeat(100 - SECRET.length + at)}NEEDLE`,
      `NEEDLE${'y'.repeat(500 - 6 - at)}${SECRET}${'z'.repeat(400)}`,
      `NEEDLE${'y'.repeat(300 - 6 - at)}${SECRET}${'z'.repeat(400)}`,
    ]).flat()
    await bench.session.files.write('long', lines.join('\n'))
    const { text } = await bench.call('grep', { pattern: 'NEEDLE', limit: 200 })
    const { matches } = await bench.session.files.grep('NEEDLE')
    expect(matches).toHaveLength(lines.length)
    for (const part of [SECRET.slice(1), SECRET.slice(-6), SECRET.slice(0, 6)]) {
      expect(text).not.toContain(part)
      expect(JSON.stringify(matches)).not.toContain(part)
    }
  })

  it('applies a patch to several files', async () => {
    await using bench = await open()
    const done = await bench.call(
      'apply_patch',
      patch(
        '*** Add File: lib/new.ts',
        '+export {}',
        '*** Update File: ./src/../src/app.ts',
        '*** Move to: src/main.ts',
        '@@',
        '-export const port = 80',
        '+export const port = 8080',
        '*** Update File: notes.txt',
        '@@',
        ' last line without an end',
        '+one more',
        '*** Delete File: src/old.ts',
        '*** Update File: run.sh',
        '*** Move to: bin/run.sh',
      ),
    )
    expect(done.text).toBe(
      'Done.\nA lib/new.ts (+1 -0)\nR ./src/../src/app.ts -> src/main.ts (+1 -1)\nM notes.txt (+1 -0)\nD src/old.ts (+0 -1)\nR run.sh -> bin/run.sh (+0 -0)',
    )
    const { files } = bench.session
    expect((await files.glob('**')).paths).toEqual([
      '.gitignore',
      'bin/run.sh',
      'docs/guide.md',
      'lib/new.ts',
      'notes.txt',
      'src/main.ts',
    ])
    expect(await files.readText('src/main.ts')).toMatch(/^export const port = 8080\n\nexport function/)
    expect(await files.readText('notes.txt')).toBe('last line without an end\none more')
    expect((await files.stat('bin/run.sh'))?.mode).toBe(0o755)
  })

  it('changes nothing when one change of many cannot be made', async () => {
    await using bench = await open()
    await bench.session.files.write('data.bin', new Uint8Array([0xff, 0xfe]))
    const before = await digestWorkspace(bench.session)
    const good = [
      '*** Add File: new/a.txt',
      '+a',
      '*** Delete File: src/old.ts',
      '*** Update File: notes.txt',
      '@@',
      '+more',
    ]
    const bad: ReadonlyArray<readonly [code: string, says: RegExp, ...lines: string[]]> = [
      [
        'patch_conflict',
        /line 9 of the patch, src\/app.ts: .*not in the file/,
        '*** Update File: src/app.ts',
        '@@',
        '-no such line',
      ],
      ['not_found', /missing.ts/, '*** Update File: missing.ts', '+x'],
      ['not_found', /missing.ts does not exist/, '*** Delete File: missing.ts'],
      ['already_exists', /run.sh exists already/, '*** Add File: run.sh', '+x'],
      ['already_exists', /run.sh exists already/, '*** Update File: src/app.ts', '*** Move to: run.sh', '+x'],
      ['not_a_directory', /run.sh/, '*** Add File: run.sh/x', '+x'],
      ['is_a_directory', /docs is a directory/, '*** Delete File: docs'],
      ['is_a_directory', /docs/, '*** Update File: docs', '+x'],
      ['binary_file', /data.bin is not UTF-8/, '*** Update File: data.bin', '+x'],
      ['path_escape', /etc/, '*** Delete File: /etc/passwd'],
      ['path_escape', /outside/, '*** Add File: ../outside.txt', '+x'],
      ['path_escape', /outside/, '*** Update File: src/app.ts', '*** Move to: /outside', '+x'],
      ['patch_invalid', /named in the section at line 5 too/, '*** Update File: ./notes.txt', '+x'],
      ['patch_invalid', /named in the section at line 2 too/, '*** Update File: run.sh', '*** Move to: new//a.txt'],
      ['patch_invalid', /line 8 of the patch/, '*** Whatever'],
    ]
    for (const [code, says, ...lines] of bad) {
      const result = await bench.call('apply_patch', patch(...good, ...lines))
      expect(result.facts.code).toBe(code)
      expect(result.text).toMatch(says)
      expect(result.text).toContain('nothing was changed')
      expect(await digestWorkspace(bench.session)).toEqual(before)
      expect(await bench.session.files.exists('new')).toBe(false)
    }
    const several = await bench.call(
      'apply_patch',
      patch('*** Delete File: x', '*** Update File: src/app.ts', '-no', '*** Add File: a', '+a'),
    )
    expect(several.facts.problems).toMatchObject([
      { code: 'not_found', line: 2 },
      { code: 'patch_conflict', path: 'src/app.ts' },
    ])
  })

  it('takes back what it wrote when a later change fails after all', async () => {
    await using bench = await open()
    await bench.session.execOrThrow('ln -s app.ts src/link.ts && ln -s nowhere dangling')
    const before = await digestWorkspace(bench.session)
    const first = ['*** Add File: new/deep/a.txt', '+a', '*** Update File: run.sh', '*** Move to: bin/run.sh', '+more']
    // Both names lead to one file: the second change was planned against what the first replaced.
    const twice = ['*** Update File: src/app.ts', '-export const port = 80', '*** Update File: src/link.ts', '+x']
    const aliased = await bench.call('apply_patch', patch('*** Delete File: src/old.ts', ...first, ...twice))
    expect(aliased.text).toMatch(/src\/link.ts changed while the patch was applied.*\nNothing was changed/)
    expect(await digestWorkspace(bench.session)).toEqual(before)
    const dangling = await bench.call('apply_patch', patch(...first, '*** Add File: dangling/x', '+x'))
    expect(dangling.ok).toBe(false)
    expect(await digestWorkspace(bench.session)).toEqual(before)
    expect([await bench.session.files.exists('new'), await bench.session.files.exists('bin')]).toEqual([false, false])
    const alone = await bench.call('apply_patch', patch('*** Update File: src/link.ts', '-export const port = 80'))
    expect(alone.ok).toBe(true)
    expect(await bench.session.files.readText('src/app.ts')).toMatch(/^\nexport function/)
    expect((await bench.call('apply_patch', patch('*** Delete File: src/link.ts'))).facts.code).toBe('path_denied')
  })

  it('asks by the names of all paths that a call is about', async () => {
    const asked: FileAccess[] = []
    await using bench = await open({
      approval: {
        read: (access) => (access.paths.some((path) => path.startsWith('docs/')) ? 'deny' : 'never'),
        write: (access) => {
          asked.push(access)
          return 'ask'
        },
      },
    })
    const input = patch(
      '*** Update File: a/../src//app.ts',
      '*** Move to: /workspace/x',
      '+x',
      '*** Delete File: ../../out',
    )
    expect(bench.tool('apply_patch').approvalFor(input)).toBe('ask')
    expect(bench.tool('apply_patch').approvalFor({ patch: 'unreadable' })).toBe('ask')
    const inWorkspace = bench.session.workspaceRoot === '/workspace' ? 'x' : '/workspace/x'
    expect(asked).toEqual([
      { tool: 'apply_patch', paths: ['src/app.ts', inWorkspace, '../../out'] },
      { tool: 'apply_patch', paths: [] },
    ])
    await expect(bench.tool('write_file').execute({ path: 'x', content: '' })).rejects.toMatchObject({
      code: 'approval_required',
    })
    expect(await bench.session.files.exists('x')).toBe(false)
    await expect(bench.call('read_file', { path: 'src/../docs/guide.md' })).rejects.toMatchObject({
      code: 'approval_denied',
    })
  })

  it('offers only what reads when it is read-only', async () => {
    await using bench = await open({ readOnly: true })
    const tools = ['read_file', 'list_files', 'glob', 'grep', 'view_image'].map((name) => bench.tool(name))
    expect(tools.every(({ effects }) => effects === 'read')).toBe(true)
    for (const name of ['write_file', 'edit_file', 'apply_patch'])
      expect(() => bench.tool(name)).toThrow('there is no tool')
    expect(bench.instructions).toContain('read only')
  })

  it('throws what no model can mend', async () => {
    await using bench = await open()
    await bench.session.release()
    await expect(bench.call('read_file', { path: 'notes.txt' })).rejects.toMatchObject({ code: 'not_running' })
  })
})

describe('filesystem options', () => {
  it.each([{ maxOutputBytes: 10 }, { maxOutputBytes: Number.NaN }, { maxImageBytes: 0.5 }])('refuses %o', (options) => {
    expect(() => filesystem(options)).toThrow(TypeError)
  })
})
