import type { FileToWrite } from '../../contracts/files.js'
import { SandboxError } from '../../errors/sandbox-error.js'
import type { Filling } from '../filling.js'
import type { HostSources } from '../host-source.js'
import { readHostTree } from '../read-host-tree.js'

/**
 * Copies the database of a repository on the host into the sandbox, and gives the url to clone it from. Its work tree, its
 * hooks and its configuration stay where they are: of a configuration nobody knows what it would run.
 */
export async function copyHostRepository(path: string, source: string, filling: Filling): Promise<string> {
  const host = await filling.host()
  const located = host.locate(source)
  const git = await host.files.stat(`${located}/.git`)
  const database = git?.type === 'directory' ? `${located}/.git` : located
  if (git?.type === 'file' || (await host.files.stat(`${database}/HEAD`)) === undefined) {
    const reason =
      git?.type === 'file' ? 'is a linked work tree or submodule; name its main repository' : 'is no git repository'
    throw new SandboxError('not_found', `entries.${path}: ${located} ${reason}.`, { path: located })
  }
  if ((await host.files.stat(`${database}/objects/info/alternates`)) !== undefined) {
    const reason = 'it borrows objects of another repository (objects/info/alternates); repack it with git repack -ad'
    throw new SandboxError('path_denied', `entries.${path}: ${located}: ${reason}.`, { path: located, reason })
  }
  const copy = await filling.staging()
  const { files } = filling.sandbox
  await files.mkdir(copy, { mode: 0o755 })
  await files.writeMany(
    databaseFiles(database, host, filling),
    copy,
    filling.signal === undefined ? {} : { signal: filling.signal },
  )
  const objectFormat = (await isSha256(host.files, database)) ? SHA256_CONFIG : SHA1_CONFIG
  await files.write(`${copy}/config`, Buffer.from(objectFormat), { mode: 0o644 })
  return `file://${copy}`
}

async function* databaseFiles(database: string, host: HostSources, { signal }: Filling): AsyncGenerator<FileToWrite> {
  const groups = readHostTree(host.files, database, {
    exclude: (relative) => NOT_NEEDED.includes(relative) || relative.endsWith('.lock'),
    onSpecial: () => undefined,
    ...(signal === undefined ? {} : { signal }),
  })
  for await (const group of groups) for (const file of group) yield file
}

const NOT_NEEDED: readonly string[] = [
  'hooks',
  'config',
  'config.worktree',
  'modules',
  'worktrees',
  'lfs',
  'index',
  'logs',
]
const SHA1_CONFIG = '[core]\n\trepositoryformatversion = 0\n\tbare = true\n'
const SHA256_CONFIG = '[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n'
const MAX_CONFIG_BYTES = 1024 * 1024

async function isSha256(files: Filling['sandbox']['files'], database: string): Promise<boolean> {
  if ((await files.stat(`${database}/config`)) === undefined) return false
  let config = ''
  for await (const chunk of await files.read(`${database}/config`, { length: MAX_CONFIG_BYTES })) {
    config += Buffer.from(chunk).toString('latin1')
  }
  return /^\s*objectformat\s*=\s*sha256\s*$/im.test(config)
}
