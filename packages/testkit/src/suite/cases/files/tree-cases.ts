import type { DirEntry, FileStat, FileToWrite, SandboxFiles, TreeEntry } from '@cofferdam/core/plugin'
import { assertCode, assertEqual, assertIterationCode, assertTrue } from '../../assertions.js'
import { backendCases, needs } from '../../backend-case.js'
import type { BackendCase } from '../../backend-case.js'
import { bytesOf, readBytes } from '../../backend-context.js'

export const TREE_CASES: readonly BackendCase[] = backendCases('files', [
  [
    'FILE-20',
    'list.order',
    'lists names and types in the order of their bytes',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const names = ['b', 'a', 'Z', 'ä', '\u{10348}', '\uffee', 'a-b', 'a b', '.hidden', '-rf', 'a\nb', '10', '9']
      for (const name of names) await files.write(`${paths.workspace}/${name}`, bytesOf(name))
      await files.mkdir(`${paths.workspace}/dir`)
      await files.symlink('a', `${paths.workspace}/link`)
      const listed = await collect(files.list(paths.workspace))
      const expected = [...names, 'dir', 'link'].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      assertEqual(
        listed.map((entry) => entry.name),
        expected,
        'names',
      )
      const types = new Map(listed.map((entry) => [entry.name, entry.type]))
      assertEqual([types.get('a'), types.get('dir'), types.get('link')], ['file', 'directory', 'symlink'], 'types')
    },
  ],
  [
    'FILE-20',
    'list.refused',
    'refuses to list what is no directory',
    async (context) => {
      const { files, paths } = await context.sandbox()
      await files.write(`${paths.workspace}/f`, bytesOf('x'))
      await assertIterationCode(files.list(`${paths.workspace}/f`), 'not_a_directory', 'list of a file')
      await assertIterationCode(files.list(`${paths.workspace}/none`), 'not_found', 'list of nothing')
      await assertIterationCode(files.tree(`${paths.workspace}/f`), 'not_a_directory', 'tree of a file')
      await assertIterationCode(files.tree(`${paths.workspace}/none`), 'not_found', 'tree of nothing')
    },
  ],
  [
    'FILE-21',
    'tree.order',
    'gives a whole tree, parent first, siblings in the order of their bytes',
    async (context) => {
      const { files, paths } = await context.sandbox()
      for (const dir of ['a', 'a/b', 'a.b', 'a-', 'ä', 'empty']) await files.mkdir(`${paths.workspace}/${dir}`)
      for (const file of ['a/b/c', 'a/z', 'a.b/x', 'a-/y', 'ä/f'])
        await files.write(`${paths.workspace}/${file}`, bytesOf(file))
      await files.symlink('../a', `${paths.workspace}/empty/up`)
      const entries = await collect(files.tree(paths.workspace))
      const expected = ['a', 'a/b', 'a/b/c', 'a/z', 'a-', 'a-/y', 'a.b', 'a.b/x', 'empty', 'empty/up', 'ä', 'ä/f']
      assertEqual(
        entries.map((entry) => entry.path),
        expected,
        'paths',
      )
      const link = entries.find((entry) => entry.path === 'empty/up')
      assertEqual([link?.type, link?.linkTarget], ['symlink', '../a'], 'what is told of a link')
      assertEqual(entries.find((entry) => entry.path === 'a/z')?.linkTarget, null, 'link target of a file')
    },
  ],
  [
    'FILE-21',
    'tree.stat',
    'tells of each entry what stat tells',
    async (context) => {
      const { files, paths } = await context.sandbox()
      await files.mkdir(`${paths.workspace}/d`, { mode: 0o750 })
      await files.write(`${paths.workspace}/d/f`, bytesOf('four'), { mode: 0o640 })
      await files.link(`${paths.workspace}/d/f`, `${paths.workspace}/hard`)
      await files.symlink('d/f', `${paths.workspace}/soft`)
      for (const entry of await collect(files.tree(paths.workspace))) {
        const { path, linkTarget: _target, ...told } = entry
        const stat = await files.stat(`${paths.workspace}/${path}`)
        // A backend may add members to either; what the contract names has to be equal.
        for (const [name, value] of Object.entries(told)) {
          if (stat !== undefined && name in stat) assertEqual(value, stat[name as keyof FileStat], `${name} of ${path}`)
        }
      }
    },
  ],
  [
    'FILE-22',
    'tree.exclude',
    'leaves out what is excluded with all beneath, and asks for nothing beneath',
    async (context) => {
      const { files, paths } = await context.sandbox()
      await files.mkdir(`${paths.workspace}/skip/deep`, { recursive: true })
      await files.write(`${paths.workspace}/skip/deep/f`, bytesOf('x'))
      await files.write(`${paths.workspace}/keep`, bytesOf('x'))
      const asked: string[] = []
      const exclude = (path: string, type: string): boolean => {
        asked.push(`${type} ${path}`)
        return path === 'skip'
      }
      const entries = await collect(files.tree(paths.workspace, { exclude }))
      assertEqual(
        entries.map((entry) => entry.path),
        ['keep'],
        'paths',
      )
      assertEqual(asked, ['file keep', 'directory skip'], 'what was asked')
    },
  ],
  [
    'FILE-22',
    'tree.link-loops',
    'does not follow links: a loop is two entries',
    async (context) => {
      const { files, paths } = await context.sandbox()
      await files.mkdir(`${paths.workspace}/d`)
      await files.symlink('..', `${paths.workspace}/d/up`)
      assertEqual(
        (await collect(files.tree(paths.workspace))).map((entry) => entry.path),
        ['d', 'd/up'],
        'paths',
      )
    },
  ],
  [
    'FILE-23',
    'tree.thousand',
    'gives a thousand entries, by list and by tree',
    async (context) => {
      const sandbox = await context.sandbox()
      const { files, paths } = sandbox
      const names = Array.from({ length: 1_000 }, (_, n) => `f${String(n).padStart(4, '0')}`)
      const entries = names.map((name): FileToWrite => ({
        type: 'file',
        path: name,
        mode: 0o644,
        sizeBytes: 5,
        content: bytesOf(name),
      }))
      await files.writeMany(entries, paths.workspace)
      assertEqual(
        (await collect(files.list(paths.workspace))).map((entry) => entry.name),
        names,
        'by list',
      )
      assertEqual(
        (await collect(files.tree(paths.workspace))).map((entry) => entry.path),
        names,
        'by tree',
      )
      assertEqual((await context.output(sandbox, 'ls | wc -l')).trim(), '1000', 'by a command')
    },
  ],
  [
    'FILE-24',
    'names.bytes',
    'carries names that are not UTF-8 both ways',
    async (context) => {
      const sandbox = await context.sandbox()
      const { files, paths } = sandbox
      await context.output(sandbox, `f=$(printf 'by\\377te'); printf %s ${context.nonce} > "$f"`)
      const [entry] = await collect(files.list(paths.workspace))
      assertEqual(entry?.name, 'by\udcffte', 'name as listed')
      assertEqual(
        new TextDecoder().decode(await readBytes(await files.read(`${paths.workspace}/by\udcffte`))),
        context.nonce,
        'contents',
      )
      await files.rename(`${paths.workspace}/by\udcffte`, `${paths.workspace}/\udc80`)
      await files.symlink('\udcfe', `${paths.workspace}/link`)
      assertEqual(await files.readlink(`${paths.workspace}/link`), '\udcfe', 'target of a link')
      assertEqual(
        (await collect(files.tree(paths.workspace))).map((each) => each.path),
        ['link', '\udc80'],
        'tree',
      )
      assertEqual(await context.output(sandbox, `cat "$(printf '\\200')"`), context.nonce, 'what a command reads')
    },
    needs('byteNames'),
  ],
  [
    'FILE-24',
    'names.normal-forms',
    'keeps composed and decomposed names apart, and upper from lower case',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const names = ['\u00e9', 'e\u0301', 'K', 'k']
      for (const name of names) await files.write(`${paths.workspace}/${name}`, bytesOf(name))
      for (const name of names) {
        const content = new TextDecoder().decode(await readBytes(await files.read(`${paths.workspace}/${name}`)))
        assertEqual(content, name, `contents of ${JSON.stringify(name)}`)
      }
      assertEqual((await collect(files.list(paths.workspace))).length, 4, 'number of files')
    },
    (features) => !features.foldsCase || 'features.foldsCase is true',
  ],
  [
    'FILE-25',
    'read-many.order',
    'reads many in the order asked for, and leaves out what is not there',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const names = Array.from({ length: 60 }, (_, n) => `f${n}`)
      for (const name of names) await files.write(`${paths.workspace}/${name}`, bytesOf(`${name}-${context.nonce}`))
      const wanted = ['none', ...names].reverse().map((name) => `${paths.workspace}/${name}`)
      const seen: string[] = []
      for await (const read of files.readMany(wanted)) {
        const text = new TextDecoder().decode(await readBytes(read.content))
        seen.push(read.path)
        assertEqual(text, `${read.path.split('/').at(-1)}-${context.nonce}`, `contents of ${read.path}`)
        assertEqual(read.stat.sizeBytes, text.length, 'size by stat')
        assertEqual((await read.after()).mtimeNs, read.stat.mtimeNs, 'mtime after the read')
      }
      assertEqual(seen, wanted.slice(0, -1), 'paths in order')
    },
  ],
  [
    'FILE-25',
    'read-many.changed',
    'shows by after that a file changed while it was read',
    async (context) => {
      const { files, paths } = await context.sandbox()
      await files.write(`${paths.workspace}/f`, bytesOf('x'.repeat(10)))
      for await (const read of files.readMany([`${paths.workspace}/f`])) {
        // Longer than the coarsest clock of a kernel ticks.
        await new Promise((resolve) => setTimeout(resolve, 15))
        await files.write(`${paths.workspace}/f`, bytesOf('grown'), { append: true })
        await readBytes(read.content)
        const after = await read.after()
        assertTrue(after.mtimeNs !== read.stat.mtimeNs || after.ctimeNs !== read.stat.ctimeNs, 'the times differ')
        assertEqual(after.sizeBytes, 15, 'size after')
      }
    },
  ],
  [
    'FILE-25',
    'read-many.left-early',
    'gives everything back when the reading is left early',
    async (context) => {
      const { files, paths } = await context.sandbox()
      for (const name of ['a', 'b', 'c']) await files.write(`${paths.workspace}/${name}`, new Uint8Array(300_000))
      for await (const read of files.readMany(['a', 'b', 'c'].map((name) => `${paths.workspace}/${name}`))) {
        await read.content.cancel()
        break
      }
      assertEqual((await files.stat(`${paths.workspace}/c`))?.sizeBytes, 300_000, 'a file afterwards')
    },
  ],
  [
    'FILE-26',
    'write-many.round-trip',
    'writes directories, files, links and hard links with their modes and times',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const mtimeNs = 1_600_000_000_123_456_000n
      const entries: FileToWrite[] = [
        { type: 'directory', path: 'd', mode: 0o750, mtimeNs },
        { type: 'file', path: 'd/f', mode: 0o4755, sizeBytes: 3, mtimeNs, content: bytesOf('abc') },
        { type: 'file', path: 'd/s', mode: 0o600, sizeBytes: 6, content: new Response('stream').body! },
        { type: 'symlink', path: 'd/l', linkTarget: 'f' },
        { type: 'hardlink', path: 'd/h', linkTarget: 'd/f' },
      ]
      await files.writeMany(entries, paths.workspace)
      const stat = (name: string): Promise<FileStat | undefined> => files.stat(`${paths.workspace}/${name}`)
      assertEqual(
        [(await stat('d'))?.mode, (await stat('d'))?.mtimeNs],
        [0o750, mtimeNs],
        'mode and time of the directory',
      )
      assertEqual(
        [(await stat('d/f'))?.mode, (await stat('d/f'))?.mtimeNs],
        [0o4755, mtimeNs],
        'mode and time of the file',
      )
      assertEqual((await stat('d/s'))?.sizeBytes, 6, 'size of the file from a stream')
      assertEqual(await files.readlink(`${paths.workspace}/d/l`), 'f', 'target of the link')
      assertEqual((await stat('d/h'))?.inode, (await stat('d/f'))?.inode, 'inode of the hard link')
      assertEqual((await stat('d/h'))?.links, 2, 'number of links')
    },
  ],
  [
    'FILE-27',
    'write-many.replaces',
    'replaces what is in the way of files and links, and keeps directories',
    async (context) => {
      const { files, paths } = await context.sandbox()
      await files.mkdir(`${paths.workspace}/keep`)
      await files.write(`${paths.workspace}/keep/inside`, bytesOf('x'))
      await files.mkdir(`${paths.workspace}/way/deep`, { recursive: true })
      await files.symlink('keep', `${paths.workspace}/link`)
      await files.writeMany(
        [
          { type: 'directory', path: 'keep', mode: 0o711 },
          { type: 'file', path: 'way', mode: 0o644, sizeBytes: 1, content: bytesOf('1') },
          { type: 'file', path: 'link', mode: 0o644, sizeBytes: 1, content: bytesOf('2') },
          { type: 'symlink', path: 'keep/inside', linkTarget: 'x' },
        ],
        paths.workspace,
      )
      const types = (await collect(files.tree(paths.workspace))).map((entry) => `${entry.type} ${entry.path}`)
      assertEqual(types, ['directory keep', 'symlink keep/inside', 'file link', 'file way'], 'what is there')
      assertEqual((await files.stat(`${paths.workspace}/keep`))?.mode, 0o711, 'mode of the kept directory')
    },
  ],
  [
    'FILE-28',
    'write-many.links-on-the-way',
    'follows no link on the way and no step up, and writes nothing outside',
    async (context) => {
      const { files, paths } = await context.sandbox()
      await files.mkdir(`${paths.workspace}/into`)
      await files.mkdir(`${paths.workspace}/beside`)
      await files.symlink('../beside', `${paths.workspace}/into/link`)
      for (const path of ['link/f', '../beside/f', `${paths.workspace}/beside/f`, 'x/../../beside/f']) {
        const entry: FileToWrite = { type: 'file', path, mode: 0o644, sizeBytes: 1, content: bytesOf('x') }
        const codes = ['path_escape', 'path_denied', 'not_a_directory', 'invalid_argument', 'not_found'] as const
        await assertCode(files.writeMany([entry], `${paths.workspace}/into`), codes, `writeMany of ${path}`)
      }
      assertEqual((await collect(files.list(`${paths.workspace}/beside`))).length, 0, 'files beside')
    },
  ],
  [
    'FILE-28',
    'write-many.refused',
    'needs a directory to write into',
    async (context) => {
      const { files, paths } = await context.sandbox()
      await files.write(`${paths.workspace}/f`, bytesOf('x'))
      await assertCode(files.writeMany([], `${paths.workspace}/none`), 'not_found', 'into nothing')
      await assertCode(files.writeMany([], `${paths.workspace}/f`), 'not_a_directory', 'into a file')
    },
  ],
])

async function collect(entries: ReturnType<SandboxFiles['list']>): Promise<DirEntry[]>
async function collect(entries: ReturnType<SandboxFiles['tree']>): Promise<TreeEntry[]>
async function collect(entries: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = []
  for await (const entry of entries) all.push(entry)
  return all
}
