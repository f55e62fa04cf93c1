import { assertCode, assertEqual } from '../../assertions.js'
import { backendCases } from '../../backend-case.js'
import type { BackendCase } from '../../backend-case.js'
import { bytesOf, readBytes } from '../../backend-context.js'

export const LINK_CASES: readonly BackendCase[] = backendCases('files', [
  [
    'FILE-47',
    'links.followed',
    'follows the last link to read, write, list and change modes and times',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const path = (name: string): string => `${paths.workspace}/${name}`
      await files.mkdir(path('dir'))
      await files.write(path('dir/f'), bytesOf('old'))
      await files.symlink('dir/f', path('file-link'))
      await files.symlink('dir', path('dir-link'))
      await files.write(path('file-link'), bytesOf('new'))
      assertEqual((await files.stat(path('file-link')))?.type, 'symlink', 'the link after a write through it')
      assertEqual(new TextDecoder().decode(await readBytes(await files.read(path('file-link')))), 'new', 'read')
      await files.chmod(path('file-link'), 0o600)
      await files.utimens(path('file-link'), 1_000_000_000_000n)
      const target = await files.stat(path('dir/f'))
      assertEqual([target?.mode, target?.mtimeNs], [0o600, 1_000_000_000_000n], 'mode and time of the target')
      const read: unknown[] = []
      for await (const each of files.readMany([path('file-link')])) {
        read.push(each.path, each.stat.type, new TextDecoder().decode(each.bytes ?? (await readBytes(each.content))))
      }
      assertEqual(read, [path('file-link'), 'file', 'new'], 'what readMany gives')
      for (const items of [files.list(path('dir-link')), files.tree(path('dir-link'))]) {
        const types: string[] = []
        for await (const { type } of items) types.push(type)
        assertEqual(types, ['file'], 'what is listed through a link to a directory')
      }
      await files.writeMany([{ type: 'symlink', path: 'made', linkTarget: 'f' }], path('dir-link'))
      assertEqual((await files.stat(path('dir/made')))?.type, 'symlink', 'what writeMany made through the link')
      await files.mkdir(path('dir-link'), { recursive: true })
    },
  ],
  [
    'FILE-47',
    'links.in-the-way',
    'takes a link in the way of something new for what exists, wherever it leads',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const path = (name: string): string => `${paths.workspace}/${name}`
      await files.write(path('f'), bytesOf('x'))
      for (const [name, target] of [
        ['to-file', 'f'],
        ['to-nothing', 'none'],
      ] as const) {
        await files.symlink(target, path(name))
        await assertCode(files.mkdir(path(name)), 'already_exists', `mkdir at a link ${name}`)
        await assertCode(files.mkdir(path(name), { recursive: true }), 'already_exists', `mkdir with parents, ${name}`)
        await assertCode(files.link(path('f'), path(name)), 'already_exists', `link at a link ${name}`)
        await assertCode(files.symlink('x', path(name)), 'already_exists', `symlink at a link ${name}`)
        const write = files.write(path(name), bytesOf('y'), { exclusive: true })
        await assertCode(write, 'already_exists', `exclusive write at a link ${name}`)
      }
      assertEqual(await files.stat(path('none')), undefined, 'where the second link leads')
      await files.write(path('g'), bytesOf('g'))
      await files.rename(path('g'), path('to-file'))
      assertEqual((await files.stat(path('to-file')))?.type, 'file', 'what a rename put in place of a link')
      assertEqual((await files.stat(path('f')))?.sizeBytes, 1, 'where the first link led')
    },
  ],
  [
    'FILE-47',
    'links.circle',
    'says path_denied for links that lead in a circle, and describes and removes them like others',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const path = (name: string): string => `${paths.workspace}/${name}`
      await files.symlink('b', path('a'))
      await files.symlink('a', path('b'))
      await files.symlink('self', path('self'))
      for (const name of ['a', 'self', 'a/f']) {
        await assertCode(files.read(path(name)), 'path_denied', `read of ${name}`)
        await assertCode(files.write(path(name), bytesOf('x')), 'path_denied', `write of ${name}`)
        await assertCode(files.chmod(path(name), 0o600), 'path_denied', `chmod of ${name}`)
        await assertCode(files.utimens(path(name), 0n), 'path_denied', `utimens of ${name}`)
        await assertCode(firstOf(files.list(path(name))), 'path_denied', `list of ${name}`)
        await assertCode(firstOf(files.readMany([path(name)])), 'path_denied', `readMany of ${name}`)
      }
      assertEqual((await files.stat(path('self')))?.type, 'symlink', 'stat of the link itself')
      assertEqual(await files.readlink(path('self')), 'self', 'its target')
      await files.remove(path('self'))
      assertEqual(await files.stat(path('self')), undefined, 'the link after its removal')
    },
  ],
  [
    'FILE-48',
    'roots.stay',
    'does not remove, move or replace the workspace or the control folder',
    async (context) => {
      const { files, paths } = await context.sandbox()
      await files.write(`${paths.workspace}/f`, bytesOf('x'))
      await files.mkdir(`${paths.workspace}/d`)
      for (const root of [paths.workspace, paths.control, `${paths.workspace}/d/..`, `${paths.workspace}/.`]) {
        await assertCode(files.remove(root, { recursive: true }), ['path_denied', 'invalid_argument'], `remove ${root}`)
        const away = files.rename(root, `${paths.workspace}/d/x`)
        await assertCode(away, ['path_denied', 'invalid_argument'], `rename of ${root}`)
        const onto = files.rename(`${paths.workspace}/d`, root)
        await assertCode(onto, ['path_denied', 'invalid_argument'], `rename onto ${root}`)
      }
      for (const root of [paths.workspace, paths.control]) {
        await assertCode(files.remove(root), 'path_denied', `remove of ${root}`)
        await assertCode(files.rename(root, `${paths.workspace}/d/x`), 'path_denied', `rename of ${root}`)
        await assertCode(files.rename(`${paths.workspace}/d`, root), 'path_denied', `rename onto ${root}`)
        assertEqual((await files.stat(root))?.type, 'directory', `what is at ${root}`)
      }
      assertEqual((await files.stat(`${paths.workspace}/f`))?.type, 'file', 'what is in the workspace')
    },
  ],
])

async function firstOf(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _item of items) return
}
