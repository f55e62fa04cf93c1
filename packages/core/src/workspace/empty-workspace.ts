import { assertNotAborted } from '../errors/assert-not-aborted.js'
import type { WorkspaceSandbox } from './filling.js'

export interface EmptyWorkspaceOptions {
  /** Workspace-relative paths that stay, with all beneath: mounts. */
  readonly keep: readonly string[]
  readonly signal?: AbortSignal
}

/**
 * Removes everything in the workspace but what is kept and the directories on the way to it. The workspace's root stays.
 * A mount that nobody named is not entered either: `files.remove` refuses it, and that is what this throws then.
 */
export async function emptyWorkspace(sandbox: WorkspaceSandbox, options: EmptyWorkspaceOptions): Promise<void> {
  await emptyDirectory(sandbox, '', options)
}

async function emptyDirectory(
  sandbox: WorkspaceSandbox,
  within: string,
  options: EmptyWorkspaceOptions,
): Promise<void> {
  const { keep, signal } = options
  const { files, paths } = sandbox
  const found: { readonly path: string; readonly isDirectory: boolean }[] = []
  for await (const { name, type } of files.list(`${paths.workspace}/${within}`)) {
    found.push({ path: `${within}${name}`, isDirectory: type === 'directory' })
  }
  for (const { path, isDirectory } of found) {
    assertNotAborted(signal, 'emptying the workspace')
    if (keep.includes(path)) continue
    if (isDirectory && keep.some((kept) => kept.startsWith(`${path}/`))) {
      await emptyDirectory(sandbox, `${path}/`, options)
    } else {
      await files.remove(`${paths.workspace}/${path}`, { recursive: true, ...(signal === undefined ? {} : { signal }) })
    }
  }
}
