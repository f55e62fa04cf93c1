import { assertCode, assertEqual, assertTrue } from '../../assertions.js'
import { backendCases } from '../../backend-case.js'
import type { BackendCase } from '../../backend-case.js'
import { bytesOf, readBytes } from '../../backend-context.js'

export const CHANGE_CASES: readonly BackendCase[] = backendCases('files', [
  [
    'FILE-40',
    'stat.members',
    'tells type, mode, size, times, inode and links of each kind',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const path = (name: string): string => `${paths.workspace}/${name}`
      await files.write(path('f'), bytesOf('12345'), { mode: 0o640 })
      await files.symlink('f', path('l'))
      await files.mkdir(path('d'))
      const [file, link, directory] = [
        await files.stat(path('f')),
        await files.stat(path('l')),
        await files.stat(path('d')),
      ]
      assertEqual([file?.type, file?.mode, file?.sizeBytes, file?.links], ['file', 0o640, 5, 1], 'the file')
      assertEqual([link?.type, directory?.type, directory?.mode], ['symlink', 'directory', 0o755], 'link and directory')
      const nowNs = BigInt(Date.now()) * 1_000_000n
      const dayNs = 86_400_000_000_000n
      assertTrue(
        file!.mtimeNs > nowNs - dayNs && file!.mtimeNs < nowNs + dayNs,
        'mtimeNs is a time of today in nanoseconds',
      )
      assertTrue(file!.inode !== directory!.inode && file!.inode !== link!.inode, 'each has its own inode')
    },
  ],
  [
    'FILE-40',
    'stat.missing',
    'gives undefined for what is confirmed missing',
    async (context) => {
      const { files, paths } = await context.sandbox()
      assertEqual(await files.stat(`${paths.workspace}/none`), undefined, 'a missing file')
      assertEqual(await files.stat(`${paths.workspace}/none/deeper`), undefined, 'a missing parent')
    },
  ],
  [
    'FILE-40',
    'stat.ctime',
    'changes ctime with every change, also of the mode and to the same contents',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const path = `${paths.workspace}/f`
      await files.write(path, bytesOf('x'))
      const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 15))
      let before = (await files.stat(path))!
      for (const [what, change] of [
        ['chmod', () => files.chmod(path, 0o600)],
        ['append', () => files.write(path, bytesOf('y'), { append: true })],
        ['utimens', () => files.utimens(path, before.mtimeNs)],
        ['write', () => files.write(path, bytesOf('xy'))],
      ] as const) {
        await pause()
        await change()
        const after = (await files.stat(path))!
        assertTrue(
          after.ctimeNs !== before.ctimeNs || after.inode !== before.inode,
          `ctime or inode differ after ${what}`,
        )
        before = after
      }
    },
  ],
  [
    'FILE-41',
    'mkdir.modes',
    'makes directories, with parents when asked for, and keeps existing ones',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const path = (name: string): string => `${paths.workspace}/${name}`
      await files.mkdir(path('d'), { mode: 0o700 })
      assertEqual((await files.stat(path('d')))?.mode, 0o700, 'mode that was given')
      await assertCode(files.mkdir(path('d')), 'already_exists', 'mkdir again')
      await assertCode(files.mkdir(path('a/b')), 'not_found', 'mkdir without a parent')
      await files.mkdir(path('a/b/c'), { recursive: true })
      await files.mkdir(path('a/b/c'), { recursive: true })
      await files.mkdir(paths.workspace, { recursive: true })
      assertEqual((await files.stat(path('a/b')))?.mode, 0o755, 'mode of a parent')
      await files.write(path('f'), bytesOf('x'))
      await assertCode(
        files.mkdir(path('f'), { recursive: true }),
        ['already_exists', 'not_a_directory'],
        'mkdir over a file',
      )
      await assertCode(files.mkdir(path('f/d'), { recursive: true }), 'not_a_directory', 'mkdir beneath a file')
    },
  ],
  [
    'FILE-41',
    'mkdir.concurrent',
    'lets many make the same directories at once',
    async (context) => {
      const { files, paths } = await context.sandbox()
      await Promise.all(Array.from({ length: 10 }, () => files.mkdir(`${paths.workspace}/a/b/c`, { recursive: true })))
      assertEqual((await files.stat(`${paths.workspace}/a/b/c`))?.type, 'directory', 'what is there')
    },
  ],
  [
    'FILE-42',
    'remove.kinds',
    'removes files, links and empty directories, and trees only when asked for',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const path = (name: string): string => `${paths.workspace}/${name}`
      await files.write(path('f'), bytesOf('x'))
      await files.symlink('f', path('l'))
      await files.mkdir(path('empty'))
      await files.mkdir(path('full/deep'), { recursive: true })
      await files.write(path('full/deep/f'), bytesOf('x'))
      await files.remove(path('l'))
      assertEqual((await files.stat(path('f')))?.type, 'file', 'the target of a removed link')
      await files.remove(path('f'))
      await files.remove(path('empty'))
      await assertCode(files.remove(path('full')), 'already_exists', 'remove of a full directory')
      assertEqual((await files.stat(path('full/deep/f')))?.type, 'file', 'what is in it')
      await files.remove(path('full'), { recursive: true })
      await assertCode(files.remove(path('full')), 'not_found', 'remove of nothing')
      await assertCode(files.remove(path('full'), { recursive: true }), 'not_found', 'recursive remove of nothing')
      await assertCode(files.remove(path('none/f')), 'not_found', 'remove beneath nothing')
    },
  ],
  [
    'FILE-42',
    'remove.root',
    'does not remove or move the workspace itself',
    async (context) => {
      const { files, paths } = await context.sandbox()
      await files.write(`${paths.workspace}/f`, bytesOf('x'))
      await assertCode(files.remove(paths.workspace, { recursive: true }), 'path_denied', 'remove of the root')
      await assertCode(files.rename(paths.workspace, `${paths.control}/w`), 'path_denied', 'rename of the root')
      assertEqual((await files.stat(`${paths.workspace}/f`))?.type, 'file', 'what is in it')
    },
  ],
  [
    'FILE-42',
    'remove.links-inside',
    'removes links in a tree and nothing that they point to',
    async (context) => {
      const { files, paths } = await context.sandbox()
      await files.mkdir(`${paths.workspace}/kept`)
      await files.write(`${paths.workspace}/kept/f`, bytesOf('x'))
      await files.mkdir(`${paths.workspace}/tree`)
      await files.symlink('../kept', `${paths.workspace}/tree/dir`)
      await files.symlink('../kept/f', `${paths.workspace}/tree/file`)
      await files.remove(`${paths.workspace}/tree`, { recursive: true })
      assertEqual((await files.stat(`${paths.workspace}/kept/f`))?.sizeBytes, 1, 'what the links pointed to')
    },
  ],
  [
    'FILE-43',
    'rename.kinds',
    'moves files, links and directories with all that is in them',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const path = (name: string): string => `${paths.workspace}/${name}`
      await files.mkdir(path('d/e'), { recursive: true })
      await files.write(path('d/e/f'), bytesOf(context.nonce))
      await files.symlink('nowhere', path('l'))
      const before = await files.stat(path('d/e/f'))
      await files.rename(path('d'), path('moved'))
      await files.rename(path('l'), path('moved/l'))
      assertEqual(await files.stat(path('d')), undefined, 'the old name')
      assertEqual((await files.stat(path('moved/e/f')))?.inode, before?.inode, 'inode of a file in it')
      assertEqual(await files.readlink(path('moved/l')), 'nowhere', 'target of the moved link')
    },
  ],
  [
    'FILE-43',
    'rename.replaces',
    'replaces files and empty directories, and refuses the other combinations as rename(2) does',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const path = (name: string): string => `${paths.workspace}/${name}`
      await files.write(path('a'), bytesOf('a'))
      await files.write(path('b'), bytesOf('b'))
      await files.rename(path('a'), path('b'))
      assertEqual(new TextDecoder().decode(await readBytes(await files.read(path('b')))), 'a', 'file over file')
      for (const dir of ['d', 'empty', 'full/x']) await files.mkdir(path(dir), { recursive: true })
      await assertCode(files.rename(path('d'), path('full')), 'already_exists', 'directory over a full one')
      await assertCode(files.rename(path('b'), path('d')), 'is_a_directory', 'file over directory')
      await assertCode(files.rename(path('d'), path('b')), 'not_a_directory', 'directory over file')
      await assertCode(files.rename(path('full'), path('full/x/y')), 'invalid_argument', 'directory into itself')
      await assertCode(files.rename(path('none'), path('x')), 'not_found', 'rename of nothing')
      await assertCode(files.rename(path('b'), path('none/x')), 'not_found', 'rename into nothing')
      await files.rename(path('d'), path('empty'))
      assertEqual(await files.stat(path('d')), undefined, 'directory over an empty one')
    },
  ],
  [
    'FILE-44',
    'link.hard',
    'gives a file a second name: one inode, two links, both change together',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const [a, b] = [`${paths.workspace}/a`, `${paths.workspace}/b`]
      await files.write(a, bytesOf('x'))
      await files.link(a, b)
      const [first, second] = [await files.stat(a), await files.stat(b)]
      assertEqual([second?.inode, second?.links], [first?.inode, 2], 'inode and links')
      await files.chmod(a, 0o600)
      assertEqual((await files.stat(b))?.mode, 0o600, 'mode by the other name')
      await files.remove(a)
      assertEqual((await files.stat(b))?.links, 1, 'links after one is removed')
      await assertCode(files.link(b, b), 'already_exists', 'link onto itself')
      await assertCode(files.link(`${paths.workspace}/none`, a), 'not_found', 'link of nothing')
    },
  ],
  [
    'FILE-44',
    'link.to-symlink',
    'links the link itself and not its target',
    async (context) => {
      const { files, paths } = await context.sandbox()
      await files.write(`${paths.workspace}/target`, bytesOf('x'))
      await files.symlink('target', `${paths.workspace}/soft`)
      await files.link(`${paths.workspace}/soft`, `${paths.workspace}/hard`)
      assertEqual((await files.stat(`${paths.workspace}/hard`))?.type, 'symlink', 'what the new name is')
      assertEqual((await files.stat(`${paths.workspace}/target`))?.links, 1, 'links of the target')
    },
  ],
  [
    'FILE-45',
    'symlink.as-written',
    'stores the target as it is written, and gives it back',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const targets = ['a', './a', '../..//x/', '/', '/etc/passwd', ' ', 'ä\n', '$(x)', 'x'.repeat(1_000)]
      for (const [index, target] of targets.entries()) {
        await files.symlink(target, `${paths.workspace}/l${index}`)
        assertEqual(await files.readlink(`${paths.workspace}/l${index}`), target, 'target')
      }
      await assertCode(files.symlink('a', `${paths.workspace}/l0`), 'already_exists', 'link over a link')
      await files.write(`${paths.workspace}/f`, bytesOf('x'))
      await assertCode(files.readlink(`${paths.workspace}/f`), 'invalid_argument', 'readlink of a file')
      await assertCode(files.readlink(`${paths.workspace}/none`), 'not_found', 'readlink of nothing')
    },
  ],
  [
    'FILE-46',
    'chmod.bits',
    'sets every permission bit',
    async (context) => {
      const sandbox = await context.sandbox()
      const { files, paths } = sandbox
      const path = `${paths.workspace}/f`
      await files.write(path, bytesOf('#!/bin/sh\necho ran\n'))
      for (const mode of [0o600, 0o777, 0o4755, 0o2755, 0o1755, 0o640]) {
        await files.chmod(path, mode)
        assertEqual((await files.stat(path))?.mode, mode, 'mode')
      }
      await files.chmod(path, 0o755)
      assertEqual(await context.output(sandbox, ['./f']), 'ran\n', 'an executable script')
      await assertCode(files.chmod(`${paths.workspace}/none`, 0o600), 'not_found', 'chmod of nothing')
    },
  ],
  [
    'FILE-46',
    'utimens.exact',
    'sets the modification time to the microsecond, from 1970 to far ahead',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const path = `${paths.workspace}/f`
      await files.write(path, bytesOf('x'))
      for (const mtimeNs of [0n, 1_234_567_890_123_456_000n, 1_999_999_999_999_999_000n, 4_000_000_000_000_001_000n]) {
        await files.utimens(path, mtimeNs)
        assertEqual((await files.stat(path))!.mtimeNs / 1_000n, mtimeNs / 1_000n, `time ${mtimeNs} in microseconds`)
      }
      await assertCode(files.utimens(`${paths.workspace}/none`, 0n), 'not_found', 'utimens of nothing')
    },
  ],
])
