import type { FileType, SandboxFiles, TreeEntry } from '../contracts/files.js'
import { GitignoreTree } from './gitignore-tree.js'
import type { IgnoreTest } from './gitignore-tree.js'

export interface FindFilesRequest {
  readonly files: SandboxFiles
  /** Absolute sandbox path of the directory to look beneath. */
  readonly root: string
  /** .gitignore files count from here down, when `root` lies in it; else from `root` down. */
  readonly workspaceRoot: string
  /** Absolute paths. Those beneath `root` are looked into, which `SandboxFiles.tree` does not do. */
  readonly mounts: readonly string[]
  readonly includeIgnored: boolean
  /** Absolute paths that are never shown. */
  readonly hidden: readonly string[]
  readonly signal?: AbortSignal
}

/**
 * All files beneath a directory, relative to it, each directory's in byte order of their names. Unless asked for, `.git`
 * and what .gitignore files name are left out; directories that they name are not even walked.
 */
export async function findFiles(request: FindFilesRequest): Promise<readonly TreeEntry[]> {
  const { files, root, workspaceRoot, includeIgnored } = request
  if (includeIgnored) return walk(request, () => false)
  const base = root.startsWith(`${workspaceRoot}/`) ? workspaceRoot : root
  const above = root === base ? '' : root.slice(base.length + 1)
  const below = (path: string): string => (above === '' ? path : `${above}/${path}`)
  const rules = new GitignoreTree(files, base)
  const ignores = await rulesAbove(rules, above)
  for (let test = ignores; ;) {
    const found = await walk(request, (path, type) => isGit(path) || (type === 'directory' && test(below(path), true)))
    let takenBack = false
    for (const { path } of found) {
      const folder = folderOfIgnoreFile(path)
      if (folder === undefined || rules.knows(below(folder))) continue
      takenBack = (await rules.read(below(folder))) || takenBack
    }
    test = rules.test()
    // What a file further down takes back may be a directory that was passed by.
    if (!takenBack) return found.filter(({ path }) => !test(below(path), false))
  }
}

/** What is said on the way from the base to `folder`. A folder that is itself ignored was asked for all the same. */
async function rulesAbove(rules: GitignoreTree, folder: string): Promise<IgnoreTest> {
  const names = folder === '' ? [] : folder.split('/')
  const folders = names.map((_, index) => names.slice(0, index).join('/'))
  for (const each of [...folders, folder]) await rules.read(each)
  if (folder !== '' && rules.test()(folder, true)) rules.forget(folders)
  return rules.test()
}

async function walk(
  request: FindFilesRequest,
  exclude: (path: string, type: FileType) => boolean,
  at: string = '',
): Promise<TreeEntry[]> {
  const { files, root, mounts, hidden, signal } = request
  const prefix = at === '' ? '' : `${at}/`
  const start = at === '' ? root : `${root}/${at}`
  const mountsBelow = mounts.filter((mount) => mount.startsWith(`${start}/`))
  const found: TreeEntry[] = []
  const tree = files.tree(start, {
    exclude: (path, type) => {
      const absolute = `${start}/${path}`
      if (hidden.includes(absolute) || mountsBelow.some((mount) => absolute.startsWith(`${mount}/`))) return true
      return exclude(prefix + path, type)
    },
    ...(signal === undefined ? {} : { signal }),
  })
  for await (const entry of tree) {
    const path = prefix + entry.path
    if (entry.type === 'file') found.push({ ...entry, path })
    else if (entry.type === 'directory' && mountsBelow.includes(`${start}/${entry.path}`)) {
      found.push(...(await walk(request, exclude, path)))
    }
  }
  return found
}

function isGit(path: string): boolean {
  return path === '.git' || path.endsWith('/.git')
}

/** `''` for the one at the top. */
function folderOfIgnoreFile(path: string): string | undefined {
  if (path === '.gitignore') return ''
  return path.endsWith('/.gitignore') ? path.slice(0, -'/.gitignore'.length) : undefined
}
