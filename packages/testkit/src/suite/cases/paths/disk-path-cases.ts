import type { Sandbox, SandboxErrorCode } from '@cofferdam/core/plugin'
import { DISK_PATH_CASES } from '../../../corpora.js'
import type { DiskPathCase, DiskSetup } from '../../../corpora.js'
import { assertCode, assertEqual } from '../../assertions.js'
import { backendCases } from '../../backend-case.js'
import type { BackendCase, BackendRow } from '../../backend-case.js'
import { bytesOf, readBytes } from '../../backend-context.js'
import { placeCanary } from '../../canary.js'

/** Every path of the corpus against the files of a sandbox, with a tree outside that must stay as it is. */
export const DISK_PATH_BACKEND_CASES: readonly BackendCase[] = backendCases('paths', DISK_PATH_CASES.map(rowOf))

function rowOf(each: DiskPathCase): BackendRow {
  const title = `${each.operation} ${JSON.stringify(each.path.slice(0, 40))}: ${each.expect} (${each.why})`
  return [each.expect === 'path_escape' ? 'PATH-1' : 'PATH-2', each.id, title, (context) => runDiskCase(context, each)]
}

async function runDiskCase(context: Parameters<BackendCase['run']>[0], each: DiskPathCase): Promise<void> {
  const sandbox = await context.sandbox()
  const canary = await placeCanary(context, sandbox)
  const fill = (text: string): string =>
    text.replaceAll('{workspace}', sandbox.paths.workspace).replaceAll('{outside}', canary.path)
  const at = (path: string): string => (path.startsWith('{') ? fill(path) : `${sandbox.paths.workspace}/${fill(path)}`)
  for (const setup of each.onDisk) await place(sandbox, setup, { fill, at })
  const before = await canary.fingerprint()
  const call = operate(sandbox, each, { fill, at })
  if (each.expect === 'ok') {
    const content = await call
    if (each.content !== undefined) assertEqual(content, each.content, 'what was read')
  } else
    await assertCode(call, each.expect satisfies SandboxErrorCode, `${each.operation} ${JSON.stringify(each.path)}`)
  assertEqual(await canary.fingerprint(), before, 'the tree outside')
}

interface Resolve {
  /** Tokens of the corpus replaced. */
  fill(text: string): string
  /** The same as an absolute path. */
  at(path: string): string
}

async function place(sandbox: Sandbox, setup: DiskSetup, { fill, at }: Resolve): Promise<void> {
  const { files } = sandbox
  const name = 'dir' in setup ? setup.dir : 'file' in setup ? setup.file : 'link' in setup ? setup.link : setup.hardlink
  const parent = name.includes('/') ? name.slice(0, name.lastIndexOf('/')) : ''
  if (parent !== '') await files.mkdir(at(parent), { recursive: true })
  if ('dir' in setup) await files.mkdir(at(setup.dir), { recursive: true })
  else if ('file' in setup) await files.write(at(setup.file), bytesOf(setup.content ?? ''))
  else if ('link' in setup) await files.symlink(fill(setup.target), at(setup.link))
  else await files.link(at(setup.target), at(setup.hardlink))
}

async function operate(sandbox: Sandbox, each: DiskPathCase, { fill, at }: Resolve): Promise<string | undefined> {
  const { files } = sandbox
  const path = at(each.path)
  switch (each.operation) {
    case 'read':
      return new TextDecoder().decode(await readBytes(await files.read(path)))
    case 'write':
      return void (await files.write(path, bytesOf('written')))
    case 'append':
      return void (await files.write(path, bytesOf('written'), { append: true }))
    case 'stat': {
      const stat = await files.stat(path)
      return void stat
    }
    case 'list':
      for await (const _entry of files.list(path)) continue
      return undefined
    case 'chmod':
      return void (await files.chmod(path, 0o777))
    case 'mkdir':
      return void (await files.mkdir(path))
    case 'mkdir-parents':
      return void (await files.mkdir(path, { recursive: true }))
    case 'remove':
      return void (await files.remove(path))
    case 'remove-tree':
      return void (await files.remove(path, { recursive: true }))
    case 'rename':
      return void (await files.rename(path, at(each.to!)))
    case 'link':
      return void (await files.link(path, at(each.to!)))
    case 'symlink':
      return void (await files.symlink(fill(each.to!), path))
  }
}
