/**
 * The kinds of entries, twice: as users write them (`…Input`) and as they are after parsing. A parsed entry has every
 * default filled in and may be written again as input.
 */
import type { RelativePath } from '../path/relative-path.js'

/** Where an entry lies: a path beneath the workspace's root, or `.` for the root itself. */
export type EntryPath = RelativePath | '.'

/**
 * Permission bits, without set-id and sticky. As input a number up to `0o777`, or a string of three or four octal digits
 * (`'0644'`), which is the only way to say it in JSON that people can read. Decimal `644` is refused.
 */
export type ModeInput = number | string

/** What every kind has. */
export interface EntryOptions {
  /** For the agent, in what `renderManifest` gives. One line. */
  readonly description?: string
  /** What to do where the backend cannot do it: fail with `unsupported_feature`, or report `entry.skipped`. Default `error`. */
  readonly ifUnsupported?: 'error' | 'skip'
}

/** What every kind has that fills the workspace with contents of its own. */
export interface ContentOptions extends EntryOptions {
  /** Made anew at every start, never in a snapshot. What lies beneath an ephemeral entry is ephemeral too. Default false. */
  readonly ephemeral?: boolean
  /** Users and groups of the sandbox, by name. Need a backend with `features.users`. Default: whoever the sandbox runs as. */
  readonly owner?: string
  readonly group?: string
  /** What wins when a snapshot that seeds the workspace holds the same path: the snapshot, or this entry. Default `keep`. */
  readonly onRestore?: 'keep' | 'overwrite'
}

/** A file with exactly one of `text` (written as UTF-8) and `base64`. */
export interface FileEntryInput extends ContentOptions {
  readonly kind: 'file'
  readonly text?: string
  readonly base64?: string
  /** Default `0o644`. */
  readonly mode?: ModeInput
}

export interface DirEntryInput extends ContentOptions {
  readonly kind: 'dir'
  /** Entries beneath it. The same may be written flat, with longer keys. */
  readonly children?: { readonly [path: string]: EntryInput }
  /** Default `0o755`. */
  readonly mode?: ModeInput
}

/** One file of the host. Beneath the application's `baseDir`, or granted by the application. */
export interface LocalFileEntryInput extends ContentOptions {
  readonly kind: 'local_file'
  /** Host path, absolute or relative to `baseDir`. */
  readonly source: string
  /** Default: the source's own. */
  readonly mode?: ModeInput
}

/** A directory of the host with all beneath it, copied. Links are copied as links; one that leads out is `path_escape`. */
export interface LocalDirEntryInput extends ContentOptions {
  readonly kind: 'local_dir'
  readonly source: string
  /** Patterns as in a .gitignore at the top of the source. Default: nothing is left out. */
  readonly exclude?: readonly string[]
  /** Of the directory itself; what lies in it has the source's modes. Default: the source's own. */
  readonly mode?: ModeInput
}

/**
 * A git repository, cloned inside the sandbox, from exactly one of `url` and `path` (a repository on the host, which needs
 * the same grant as `local_dir`).
 */
export interface GitRepoEntryInput extends ContentOptions {
  readonly kind: 'git_repo'
  /** `https:`, `http:`, `ssh:` or `git:`, or `user@host:path`. Credentials in it are refused. */
  readonly url?: string
  readonly path?: string
  /** Branch, tag or commit. Default: the repository's HEAD. */
  readonly ref?: string
  /** Commits of history. 0 = all. Default 1. */
  readonly depth?: number
  /** Only this directory of the repository, without `.git`. */
  readonly subpath?: string
  /** Name of the secret with the password or token for an http(s) `url`. `user` default `x-access-token`. */
  readonly credentials?: { readonly secret: string; readonly user?: string }
  /** Of the directory itself. Default `0o755`. */
  readonly mode?: ModeInput
}

export interface SymlinkEntryInput extends ContentOptions {
  readonly kind: 'symlink'
  /** Relative, and inside the workspace; or absolute, inside the workspace's root. */
  readonly target: string
}

/** Files of the host that are brought up to date at every start, one way. Never in a snapshot. */
export interface ProjectionEntryInput extends EntryOptions {
  readonly kind: 'projection'
  /** Host directory. Default: `baseDir` itself. */
  readonly source?: string
  /** Files and directories of the source that are projected, where they are there. Default: {@link DEFAULT_PROJECTION_ROOTS}. */
  readonly roots?: readonly string[]
}

/** A directory or file of the host inside the sandbox, live. The application must grant it, with `read-write` to write. */
export interface BindMountEntryInput extends EntryOptions {
  readonly kind: 'bind_mount'
  readonly source: string
  /** Default true. */
  readonly readOnly?: boolean
}

export type EntryInput =
  | FileEntryInput
  | DirEntryInput
  | LocalFileEntryInput
  | LocalDirEntryInput
  | GitRepoEntryInput
  | SymlinkEntryInput
  | ProjectionEntryInput
  | BindMountEntryInput

export type EntryKind = EntryInput['kind']

/** {@link EntryOptions} after parsing. */
export interface ParsedOptions {
  readonly description?: string
  readonly ifUnsupported: 'error' | 'skip'
}

/** {@link ContentOptions} after parsing. */
export interface ParsedContentOptions extends ParsedOptions {
  readonly ephemeral: boolean
  readonly owner?: string
  readonly group?: string
  readonly onRestore: 'keep' | 'overwrite'
}

export interface FileEntry extends ParsedContentOptions {
  readonly kind: 'file'
  /** Exactly one of the two is there. */
  readonly text?: string
  readonly base64?: string
  readonly mode: number
}

export interface DirEntry extends ParsedContentOptions {
  readonly kind: 'dir'
  readonly mode: number
}

export interface LocalFileEntry extends ParsedContentOptions {
  readonly kind: 'local_file'
  readonly source: string
  readonly mode?: number
}

export interface LocalDirEntry extends ParsedContentOptions {
  readonly kind: 'local_dir'
  readonly source: string
  readonly exclude: readonly string[]
  readonly mode?: number
}

export interface GitRepoEntry extends ParsedContentOptions {
  readonly kind: 'git_repo'
  /** Exactly one of the two is there. */
  readonly url?: string
  readonly path?: string
  readonly ref?: string
  readonly depth: number
  readonly subpath?: RelativePath
  readonly credentials?: { readonly secret: string; readonly user: string }
  readonly mode: number
}

export interface SymlinkEntry extends ParsedContentOptions {
  readonly kind: 'symlink'
  readonly target: string
}

export interface ProjectionEntry extends ParsedOptions {
  readonly kind: 'projection'
  /** `.` for `baseDir` itself. */
  readonly source: string
  readonly roots: readonly RelativePath[]
}

export interface BindMountEntry extends ParsedOptions {
  readonly kind: 'bind_mount'
  readonly source: string
  readonly readOnly: boolean
}

/** An entry with contents of its own: everything but projections and mounts. */
export type ContentEntry = FileEntry | DirEntry | LocalFileEntry | LocalDirEntry | GitRepoEntry | SymlinkEntry

export type Entry = ContentEntry | ProjectionEntry | BindMountEntry

/** What a projection brings when it does not say. */
export const DEFAULT_PROJECTION_ROOTS: readonly string[] = Object.freeze([
  'AGENTS.md',
  'skills',
  'subagents',
  'knowledge',
])

export function isContentEntry(entry: Entry): entry is ContentEntry {
  return entry.kind !== 'projection' && entry.kind !== 'bind_mount'
}
