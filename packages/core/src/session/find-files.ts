import type { SandboxFiles, TreeEntry } from '../contracts/files.js'
import { compileIgnoreRules } from '../match/ignore-rules.js'

const MAX_IGNORE_BYTES = 1024 * 1024

export interface FindFilesRequest {
  readonly files: SandboxFiles
  /** Absolute sandbox path of the directory to look beneath. */
  readonly root: string
  readonly includeIgnored: boolean
  /** Absolute paths that are never shown. */
  readonly hidden: readonly string[]
  readonly signal?: AbortSignal
}

type IgnoreRules = (path: string, isDirectory: boolean) => boolean

/**
 * All files beneath a directory, in order, relative to it. Unless asked for, `.git` and what .gitignore files in the tree
 * name are left out; what the top one names is not even walked.
 */
export async function findFiles(request: FindFilesRequest): Promise<readonly TreeEntry[]> {
  const { files, root, hidden, includeIgnored, signal } = request
  const top = includeIgnored ? () => false : await rulesAt(files, `${root}/.gitignore`)
  const found: TreeEntry[] = []
  const nested: string[] = []
  const exclude = (path: string, type: string): boolean =>
    hidden.includes(`${root}/${path}`) ||
    (!includeIgnored && (path === '.git' || path.endsWith('/.git') || top(path, type === 'directory')))
  for await (const entry of files.tree(root, { exclude, ...(signal === undefined ? {} : { signal }) })) {
    if (entry.type !== 'file') continue
    if (!includeIgnored && entry.path.endsWith('/.gitignore')) nested.push(entry.path.slice(0, -'/.gitignore'.length))
    found.push(entry)
  }
  if (nested.length === 0) return found
  const rules = await Promise.all(
    nested.map(async (folder) => [folder, await rulesAt(files, `${root}/${folder}/.gitignore`)] as const),
  )
  return found.filter(
    ({ path }) =>
      !rules.some(
        ([folder, ignores]) => path.startsWith(`${folder}/`) && ignores(path.slice(folder.length + 1), false),
      ),
  )
}

/** Patterns that cannot be used hide nothing: a broken .gitignore must not break a search. */
async function rulesAt(files: SandboxFiles, path: string): Promise<IgnoreRules> {
  const stat = await files.stat(path)
  if (stat === undefined || stat.type !== 'file' || stat.sizeBytes > MAX_IGNORE_BYTES) return () => false
  const text = await new Response(await files.read(path)).text()
  try {
    return compileIgnoreRules(text.split(/\r?\n/).filter((line) => !line.includes('\0')))
  } catch {
    return () => false
  }
}
