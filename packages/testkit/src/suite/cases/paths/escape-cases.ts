import { assertCode, assertEqual, assertTrue } from '../../assertions.js'
import { backendCases } from '../../backend-case.js'
import type { BackendCase } from '../../backend-case.js'
import { bytesOf, readBytes } from '../../backend-context.js'
import { placeCanary } from '../../canary.js'

/** Absolute paths that no sandbox's files may reach. */
const OUTSIDE = [
  '/',
  '/etc',
  '/etc/passwd',
  '/proc/self/environ',
  '/tmp',
  '/root',
  '/none-such',
  '/usr/bin/env',
  '//etc/passwd',
]

export const ESCAPE_CASES: readonly BackendCase[] = backendCases('paths', [
  [
    'PATH-3',
    'absolute.outside',
    'says path_escape for absolute paths outside, there or not, in every method',
    async (context) => {
      const { files, paths } = await context.sandbox()
      await files.write(`${paths.workspace}/f`, bytesOf('x'))
      for (const path of OUTSIDE) {
        const calls: Record<string, () => Promise<unknown>> = {
          stat: () => files.stat(path),
          readlink: () => files.readlink(path),
          read: () => files.read(path),
          write: () => files.write(path, bytesOf('x')),
          append: () => files.write(path, bytesOf('x'), { append: true }),
          mkdir: () => files.mkdir(path, { recursive: true }),
          remove: () => files.remove(path, { recursive: true }),
          renameFrom: () => files.rename(path, `${paths.workspace}/x`),
          renameTo: () => files.rename(`${paths.workspace}/f`, path),
          link: () => files.link(path, `${paths.workspace}/x`),
          symlink: () => files.symlink('x', path),
          chmod: () => files.chmod(path, 0o777),
          utimens: () => files.utimens(path, 0n),
          list: () => first(files.list(path)),
          tree: () => first(files.tree(path)),
          readMany: () => first(files.readMany([path])),
          writeMany: () => files.writeMany([], path),
        }
        for (const [name, call] of Object.entries(calls)) await assertCode(call(), 'path_escape', `${name} of ${path}`)
      }
      assertEqual((await files.stat(`${paths.workspace}/f`))?.sizeBytes, 1, 'the file inside')
    },
  ],
  [
    'PATH-3',
    'prefix.sibling',
    'does not take a directory beside the workspace for one in it',
    async (context) => {
      const { files, paths } = await context.sandbox()
      await assertCode(files.stat(`${paths.workspace}x/f`), 'path_escape', 'stat beside')
      await assertCode(files.mkdir(`${paths.workspace}-2`), 'path_escape', 'mkdir beside')
      await assertCode(files.write(`${paths.workspace}/../f`, bytesOf('x')), 'path_escape', 'write above')
    },
  ],
  [
    'PATH-6',
    'links.leading-out',
    'says path_escape in every method that follows a link which leads out, there or not',
    async (context) => {
      const sandbox = await context.sandbox()
      const { files, paths } = sandbox
      const canary = await placeCanary(context, sandbox)
      const before = await canary.fingerprint()
      for (const [name, target] of [
        ['file', `${canary.path}/secret`],
        ['directory', `${canary.path}/dir`],
        ['nothing', `${canary.path}/none`],
        ['way', `${canary.path}/none/deeper`],
      ] as const) {
        const link = `${paths.workspace}/${name}`
        await files.symlink(target, link)
        const calls: Record<string, () => Promise<unknown>> = {
          read: () => files.read(link),
          write: () => files.write(link, bytesOf('x')),
          append: () => files.write(link, bytesOf('x'), { append: true }),
          mkdir: () => files.mkdir(link, { recursive: true }),
          mkdirBeneath: () => files.mkdir(`${link}/made`, { recursive: true }),
          chmod: () => files.chmod(link, 0o777),
          utimens: () => files.utimens(link, 0n),
          list: () => first(files.list(link)),
          tree: () => first(files.tree(link)),
          readMany: () => first(files.readMany([link])),
          writeMany: () => files.writeMany([], link),
          statBeneath: () => files.stat(`${link}/f`),
          removeBeneath: () => files.remove(`${link}/file`, { recursive: true }),
        }
        for (const [method, call] of Object.entries(calls)) {
          await assertCode(call(), 'path_escape', `${method} of a link to ${name} outside`)
        }
        assertEqual(await files.readlink(link), target, 'the link itself')
        await files.remove(link)
      }
      assertEqual(await canary.fingerprint(), before, 'the tree outside')
    },
  ],
  [
    'PATH-4',
    'race.swapped-link',
    'never reads or writes outside while a link is swapped under its feet',
    async (context) => {
      const sandbox = await context.sandbox()
      const { files, paths } = sandbox
      const canary = await placeCanary(context, sandbox)
      const before = await canary.fingerprint()
      await context.output(sandbox, 'mkdir real && echo inside > real/secret')
      const script = `while true; do ln -sfn ${canary.path} d; ln -sfn real d; done`
      const swapper = await context.spawn(sandbox, script, { background: true, timeoutMs: 0 })
      await Promise.all([swapper.stdout.cancel(), swapper.stderr.cancel()])
      await context.eventually('the link', async () => (await files.stat(`${paths.workspace}/d`)) !== undefined)
      for (let round = 0; round < 150; round++) {
        const text = await files.read(`${paths.workspace}/d/secret`).then(
          async (stream) => new TextDecoder().decode(await readBytes(stream)),
          () => 'inside\n',
        )
        assertTrue(text === 'inside\n' || text === `written-${context.nonce}`, 'what was read is inside')
        await files.write(`${paths.workspace}/d/secret`, bytesOf(`written-${context.nonce}`)).catch(() => {})
        await files.write(`${paths.workspace}/d/new`, bytesOf('x')).catch(() => {})
        await files.mkdir(`${paths.workspace}/d/dir/made`, { recursive: true }).catch(() => {})
        await files.remove(`${paths.workspace}/d/dir`, { recursive: true }).catch(() => {})
      }
      await swapper.kill()
      assertEqual(await canary.fingerprint(), before, 'the tree outside')
    },
  ],
  [
    'PATH-5',
    'control.reachable',
    'reaches the control folder, which commands do not find in the workspace',
    async (context) => {
      const sandbox = await context.sandbox()
      const { files, paths } = sandbox
      await files.write(`${paths.control}/f`, bytesOf(context.nonce))
      assertEqual(
        new TextDecoder().decode(await readBytes(await files.read(`${paths.control}/f`))),
        context.nonce,
        'contents',
      )
      assertEqual(await context.output(sandbox, 'ls -A'), '', 'what a command lists in the workspace')
    },
  ],
])

async function first(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _item of items) return
}
