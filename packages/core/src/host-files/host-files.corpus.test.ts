import {
  lstatSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DISK_PATH_CASES } from '@cofferdam/testkit/corpora'
import type { DiskPathCase } from '@cofferdam/testkit/corpora'
import type { SandboxFiles } from '../contracts/files.js'
import { isSandboxError } from '../errors/sandbox-error.js'
import { openHostFiles } from './host-files.js'
import { toNativePath } from './native-path.js'
import { openByRealPath, openDescriptor } from './place.js'

let base: string
let workspace: string
let outside: string

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'cofferdam-paths-')))
  workspace = join(base, 'workspace')
  outside = join(base, 'outside')
  mkdirSync(join(outside, 'dir'), { recursive: true })
  mkdirSync(workspace)
  writeFileSync(join(outside, 'secret'), 'secret')
  writeFileSync(join(outside, 'dir/file'), 'secret')
})

afterEach(() => rmSync(base, { recursive: true, force: true }))

const openers =
  process.platform === 'linux'
    ? { descriptors: openDescriptor, 'real paths': openByRealPath }
    : { 'real paths': openByRealPath }

describe.each(Object.entries(openers))('host files by %s', (_name, open) => {
  it.each(DISK_PATH_CASES.map((one) => [one.id, one] as const))('%s', async (_id, one) => {
    for (const thing of one.onDisk) setUp(thing)
    const before = canary()
    const files = openHostFiles({ roots: [{ path: workspace, readOnly: false }] }, open)
    const outcome = await perform(files, one).then(
      (content) => ({ code: 'ok', content }),
      (error: unknown) => {
        if (!isSandboxError(error)) throw error
        return { code: error.code, content: undefined }
      },
    )
    expect(canary()).toEqual(before)
    expect(outcome.code).toBe(one.expect)
    if (one.content !== undefined) expect(outcome.content).toBe(one.content)
  })
})

function place(path: string): string {
  const whole = path.replaceAll('{workspace}', workspace).replaceAll('{outside}', outside)
  return whole.startsWith('/') ? whole : `${workspace}/${whole}`
}

function target(text: string): string {
  return text.replaceAll('{workspace}', workspace).replaceAll('{outside}', outside)
}

function setUp(thing: DiskPathCase['onDisk'][number]): void {
  const path = place(
    'dir' in thing ? thing.dir : 'file' in thing ? thing.file : 'link' in thing ? thing.link : thing.hardlink,
  )
  mkdirSync(toNativePath(dirname(path)), { recursive: true })
  if ('dir' in thing) mkdirSync(toNativePath(path), { recursive: true })
  else if ('file' in thing) writeFileSync(toNativePath(path), thing.content ?? '')
  else if ('link' in thing) symlinkSync(toNativePath(target(thing.target)), toNativePath(path))
  else linkSync(toNativePath(place(thing.target)), toNativePath(path))
}

async function perform(files: SandboxFiles, one: DiskPathCase): Promise<string | undefined> {
  const path = place(one.path)
  const to = one.operation === 'symlink' ? target(one.to ?? '') : place(one.to ?? '')
  const data = new TextEncoder().encode('written')
  switch (one.operation) {
    case 'read':
      return new Response(await files.read(path)).text()
    case 'write':
      await files.write(path, data)
      return undefined
    case 'append':
      await files.write(path, data, { append: true })
      return undefined
    case 'stat':
      await files.stat(path)
      return undefined
    case 'list':
      for await (const entry of files.list(path)) expect(entry.name).not.toBe('')
      return undefined
    case 'chmod':
      await files.chmod(path, 0o600)
      return undefined
    case 'mkdir':
      await files.mkdir(path)
      return undefined
    case 'mkdir-parents':
      await files.mkdir(path, { recursive: true })
      return undefined
    case 'remove':
      await files.remove(path)
      return undefined
    case 'remove-tree':
      await files.remove(path, { recursive: true })
      return undefined
    case 'rename':
      await files.rename(path, to)
      return undefined
    case 'link':
      await files.link(path, to)
      return undefined
    case 'symlink':
      await files.symlink(to, path)
      return undefined
  }
}

/** All that is outside: names, inodes, modes, contents. */
function canary(): unknown {
  return (readdirSync(outside, { recursive: true }) as string[]).sort().map((name) => {
    const { ino, mode, nlink, size } = lstatSync(join(outside, name))
    return { name, ino, mode, nlink, size, content: size === 6 ? readFileSync(join(outside, name), 'utf8') : undefined }
  })
}
