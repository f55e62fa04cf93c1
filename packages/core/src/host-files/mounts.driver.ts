/**
 * Operations around mounts, in a mount namespace of their own: `<folder>/ws/dir` is a bind mount of `<folder>/outside`,
 * `<folder>/ws/file` one of `<folder>/outside/file`, `<folder>/ws/small` a file system of one mebibyte. Prints what came
 * of each as JSON.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isSandboxError } from '../errors/sandbox-error.js'
import { createHostFiles } from './host-files.js'

const MOUNT = [
  'mount --make-rprivate /',
  'mount --bind "$1/outside" "$1/ws/dir"',
  'mount --bind "$1/outside/file" "$1/ws/file"',
  'mount -t tmpfs -o size=1m none "$1/ws/small"',
  'exec "$@"',
].join(' && ')

const folder = process.argv[2] ?? ''
if (process.argv[3] === 'inside') await report()
else enter()

function enter(): void {
  const again = [process.execPath, ...process.execArgv, fileURLToPath(import.meta.url), folder, 'inside']
  const script = MOUNT.replace('exec "$@"', 'shift && exec "$@"')
  const end = spawnSync('unshare', ['-m', 'sh', '-c', script, 'sh', folder, ...again], { stdio: 'inherit' })
  process.exitCode = end.status ?? 1
}

async function report(): Promise<void> {
  const files = createHostFiles({ roots: [{ path: `${folder}/ws`, readOnly: false }] })
  const ws = `${folder}/ws`
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
  const results: Record<string, unknown> = {}
  const attempt = async (name: string, act: () => Promise<unknown>): Promise<void> => {
    results[name] = await act().then(
      (value) => value ?? 'ok',
      (error: unknown) => (isSandboxError(error) ? error.code : String(error)),
    )
  }
  const inode = statSync(`${ws}/file`).ino
  await attempt('tree', async () => {
    const seen: string[] = []
    for await (const { path } of files.tree(ws)) seen.push(path)
    return seen
  })
  await attempt('remove the mount', () => files.remove(`${ws}/dir`, { recursive: true }))
  await attempt('remove above', () => files.remove(`${ws}/above`, { recursive: true }))
  await attempt('remove the file', () => files.remove(`${ws}/file`))
  await attempt('rename over the file', () => files.rename(`${ws}/plain`, `${ws}/file`))
  await attempt('write many into the mount', () =>
    files.writeMany([{ type: 'file', path: 'dir/file', mode: 0o600, sizeBytes: 1, content: bytes('x') }], ws),
  )
  await attempt('write the file', () => files.write(`${ws}/file`, bytes('in place')))
  results['same inode'] = statSync(`${ws}/file`).ino === inode
  results['file'] = readFileSync(`${ws}/file`, 'utf8')
  await attempt('stream the file', async () => {
    await files.write(
      `${ws}/file`,
      (async function* () {
        yield bytes('streamed ')
        yield bytes('in place')
      })(),
    )
    return readFileSync(`${ws}/file`, 'utf8')
  })
  await files.write(`${ws}/small/old`, bytes('old'))
  await attempt('too much', () => files.write(`${ws}/small/old`, new Uint8Array(3 << 20)))
  await attempt('too much appended', () => files.write(`${ws}/small/old`, new Uint8Array(3 << 20), { append: true }))
  await attempt('too much by writeMany', () =>
    files.writeMany(
      [{ type: 'file', path: 'x', mode: 0o600, sizeBytes: 3 << 20, content: new Uint8Array(3 << 20) }],
      `${ws}/small`,
    ),
  )
  results['left of it'] = readdirSync(`${ws}/small`)
  results['old'] = readFileSync(`${ws}/small/old`, 'utf8')
  results['left in the workspace'] = readdirSync(ws).sort()
  process.stdout.write(`${JSON.stringify(results)}\n`)
}
