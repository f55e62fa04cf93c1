/** Bytes to write: at once, or as they come. Text is encoded by the caller. */
export type ByteSource = Uint8Array | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>

export type FileType = 'file' | 'directory' | 'symlink' | 'fifo' | 'socket' | 'device'

/** What `stat` tells; the link itself is described, never its target. */
export interface FileStat {
  readonly type: FileType
  /** Permission bits with set-id and sticky, 0–0o7777. */
  readonly mode: number
  readonly sizeBytes: number
  /** Nanoseconds since the epoch. */
  readonly mtimeNs: bigint
  readonly ctimeNs: bigint
  readonly inode: bigint
  readonly uid: number
  readonly gid: number
  /** Number of hard links. */
  readonly links: number
}

export interface DirEntry {
  /** One component; bytes that are not UTF-8 as U+DC80–DCFF. */
  readonly name: string
  readonly type: FileType
}

/** One line of `tree`. `path` is relative to the root that was asked for; the root itself is not listed. */
export interface TreeEntry extends FileStat {
  readonly path: string
  /** For links: where it points, as written. */
  readonly linkTarget: string | null
}

export interface ReadRange {
  /** First byte. Default 0. */
  readonly offset?: number
  /** Bytes to read at most. Default: to the end. */
  readonly length?: number
}

export interface WriteOptions {
  /** Permission bits. Default: those of the file that is replaced, else 0o644. */
  readonly mode?: number
  /** Add to the end instead of replacing; in place. Default false. */
  readonly append?: boolean
  /** Fail with `already_exists` when something is there. Default false. */
  readonly exclusive?: boolean
  readonly signal?: AbortSignal
}

/** One file, directory or link for `writeMany`; `path` is relative to `into`. Parents come before children. */
export type FileToWrite =
  | { readonly type: 'directory'; readonly path: string; readonly mode: number; readonly mtimeNs?: bigint }
  | { readonly type: 'symlink'; readonly path: string; readonly linkTarget: string; readonly mtimeNs?: bigint }
  | { readonly type: 'hardlink'; readonly path: string; readonly linkTarget: string }
  | {
      readonly type: 'file'
      readonly path: string
      readonly mode: number
      readonly sizeBytes: number
      readonly mtimeNs?: bigint
      readonly content: Uint8Array | ReadableStream<Uint8Array>
    }

/** One result of `readMany`. */
export interface FileRead {
  readonly path: string
  readonly stat: FileStat
  /** Must be drained or cancelled before the next result is asked for, unless `bytes` was taken instead. */
  readonly content: ReadableStream<Uint8Array>
  /** The whole contents where they are at hand already, as of small files, for which a stream costs more than the file; else null. */
  readonly bytes: Uint8Array | null
  /** The stat once more, on the same descriptor after the content was drained: differs when the file changed meanwhile. */
  after(): Promise<FileStat>
}

export interface TreeOptions {
  /** Called with the relative path of every entry; true leaves it and all beneath it out. Default: nothing is left out. */
  readonly exclude?: (path: string, type: FileType) => boolean
  readonly signal?: AbortSignal
}

/**
 * Files of a sandbox, as its commands see them.
 *
 * Paths are absolute sandbox paths. A path is resolved once, to a descriptor, with links walked from the sandbox's `/`;
 * the decision is made on the real path of the descriptor, and the action on the descriptor, so that no link swapped in
 * between leads anywhere else. A final target outside every allowed root (the workspace, the control folder and the
 * mounts) is `path_escape`: never `not_found`, never another place instead. So is a link that leads out, for every method
 * that follows it, whether or not something is there.
 *
 * The last link is followed by `read`, `readMany`, `write`, `list`, `tree`, `chmod`, `utimens` and for `into` of
 * `writeMany`. It is not followed by `stat`, `readlink`, `remove`, `rename`, `link`, `symlink`, `mkdir` and an exclusive
 * `write`: for the last four a link that is in the way is something that exists, wherever it leads. Links on the way are
 * always followed. Those that lead in a circle are `path_denied`.
 *
 * The roots themselves stay where they are: to remove one, to rename it, or to rename something onto it is `path_denied`.
 *
 * Names are bytes. Those that are not UTF-8 travel as lone surrogates U+DC80–DCFF, both ways (PEP 383).
 *
 * Nothing here removes, empties or replaces across a mount: `remove` with `recursive` refuses with `path_denied` when it
 * meets a mount point, compared by mount id, before anything beneath it is touched.
 *
 * All methods throw, beside what they name: `not_found`, `path_escape`, `path_denied`, `not_a_directory`,
 * `is_a_directory`, `invalid_argument` (NUL, relative or over-long path), `not_running`, `lease_lost`, `aborted`.
 */
export interface SandboxFiles {
  /** undefined only when it is confirmed that nothing is there. */
  stat(path: string): Promise<FileStat | undefined>
  readlink(path: string): Promise<string>
  /** In byte order of the names. */
  list(path: string): AsyncIterable<DirEntry>
  /** The stream reads as it is pulled and closes its descriptor when drained or cancelled. */
  read(path: string, range?: ReadRange): Promise<ReadableStream<Uint8Array>>
  /**
   * Replaces a file as a whole: readers see the old contents or the new, never a part. Mode and owner of the old file are
   * kept. A file that is itself a mount point is written in place. The parent must exist. Throws `no_space`,
   * `already_exists` (with `exclusive`), `read_only`.
   */
  write(path: string, data: ByteSource, options?: WriteOptions): Promise<void>
  /**
   * With `recursive`, missing parents are made, with mode 0o755, and an existing directory is no error, nor a link to one.
   * Default mode 0o755. Throws `already_exists`.
   */
  mkdir(path: string, options?: { readonly recursive?: boolean; readonly mode?: number }): Promise<void>
  /** Removes a link and not what it leads to. A directory with contents needs `recursive`, else `already_exists`. Removing nothing is `not_found`. */
  remove(path: string, options?: { readonly recursive?: boolean; readonly signal?: AbortSignal }): Promise<void>
  /** Replaces a file or an empty directory at `to`, as rename(2). */
  rename(from: string, to: string): Promise<void>
  link(existing: string, path: string): Promise<void>
  /** `target` is stored as written; where it leads is decided when it is followed. */
  symlink(target: string, path: string): Promise<void>
  /** `mode` is 0–0o7777; the umask of the host changes nothing. */
  chmod(path: string, mode: number): Promise<void>
  /** Sets the modification time, as exactly as the backend can (at least to the microsecond). */
  utimens(path: string, mtimeNs: bigint): Promise<void>
  /**
   * Everything beneath `root`, in one pass and without contents: parent first, siblings in byte order of their names.
   * Mount points are listed as directories and not entered.
   */
  tree(root: string, options?: TreeOptions): AsyncIterable<TreeEntry>
  /** Many files in one stream, in the order asked for. A path that is no longer there, or a link that leads to nothing, is left out. */
  readMany(
    paths: AsyncIterable<string> | Iterable<string>,
    options?: { readonly signal?: AbortSignal },
  ): AsyncIterable<FileRead>
  /**
   * Many entries in one stream beneath the existing directory `into`. What is in the way of a file or link is replaced;
   * directories are kept and take the given mode. Not atomic as a whole: for a staging folder, or a fresh workspace.
   * No link on the way beneath `into` is followed.
   */
  writeMany(
    entries: AsyncIterable<FileToWrite> | Iterable<FileToWrite>,
    into: string,
    options?: { readonly signal?: AbortSignal },
  ): Promise<void>
}
