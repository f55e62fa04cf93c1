import type { SandboxErrorCode } from '@cofferdam/core'
import type { PathScope } from '@cofferdam/core/path'

/** What a parser must say: the normalised path, or the code it throws. */
export type PathVerdict = { readonly ok: string } | { readonly code: SandboxErrorCode }

/** A path judged by its text alone. */
export interface LexicalPathCase {
  readonly id: string
  readonly path: string
  readonly why: string
  /** As a manifest's key or an archive's member. */
  readonly relative: PathVerdict
  /** As an agent's path, in {@link LEXICAL_SCOPE}. */
  readonly workspace: PathVerdict
}

/** The scope of {@link LexicalPathCase.workspace}. */
export const LEXICAL_SCOPE: PathScope = {
  workspaceRoot: '/workspace',
  mounts: [
    { path: '/mnt/data', readOnly: false },
    { path: '/mnt/reference', readOnly: true },
    { path: '/workspace/vendor', readOnly: true },
  ],
}

/**
 * One thing that is on the disk before the case runs, its path relative to the workspace's root. Targets may hold the
 * tokens of {@link DiskPathCase}.
 */
export type DiskSetup =
  | { readonly dir: string }
  | { readonly file: string; readonly content?: string }
  | { readonly link: string; readonly target: string }
  | { readonly hardlink: string; readonly target: string }

/**
 * - `read`, `write`, `append`, `list` and `chmod` follow a link at the end of the path; `stat`, `remove`, `remove-tree`,
 *   `rename`, `mkdir` do not.
 * - `rename` and `link` have `to`, a second path; `symlink` has `to`, the new link's target.
 */
export type DiskOperation =
  | 'read'
  | 'write'
  | 'append'
  | 'stat'
  | 'list'
  | 'chmod'
  | 'mkdir'
  | 'mkdir-parents'
  | 'remove'
  | 'remove-tree'
  | 'rename'
  | 'link'
  | 'symlink'

/**
 * An operation on a path, with links on the disk. Paths are relative to the workspace's root unless they begin with a
 * token. Tokens, also in targets: `{workspace}` is the absolute path of the workspace's root; `{outside}` that of a
 * directory outside every allowed root, which holds `secret` (a file), `dir/file` and nothing else.
 *
 * Whatever happens, `{outside}` must be the same afterwards, by content and by inode.
 */
export interface DiskPathCase {
  readonly id: string
  readonly why: string
  readonly onDisk: readonly DiskSetup[]
  readonly operation: DiskOperation
  readonly path: string
  readonly to?: string
  readonly expect: 'ok' | SandboxErrorCode
  /** For a `read` that succeeds: what must come out. */
  readonly content?: string
}
