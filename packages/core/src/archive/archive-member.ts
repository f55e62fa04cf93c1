import type { RelativePath } from '../path/relative-path.js'

/**
 * - `file`: has content, `sizeBytes` long.
 * - `directory`: also the directories that only hold others may be missing from an archive; whoever extracts makes them.
 * - `symlink`: `linkTarget` is its text, to be stored as it is.
 * - `hardlink`: `linkTarget` is the path of an earlier member, which is a file.
 */
export type ArchiveMemberType = 'file' | 'directory' | 'symlink' | 'hardlink'

/** One member of an archive, vetted. Its content can be had until the next member is asked for. */
export interface ArchiveMember {
  readonly path: RelativePath
  readonly type: ArchiveMemberType
  /** Permission bits, 0–0o777; with set-id and sticky bits (0o7000) only when they were allowed. */
  readonly mode: number
  /** Nanoseconds since 1970, fits a signed 64-bit integer. May be negative. */
  readonly mtimeNs: bigint
  /** Length of the content; 0 for everything but files. */
  readonly sizeBytes: number
  /** For links alone. */
  readonly linkTarget?: string
  readonly uid: number
  readonly gid: number
  /**
   * The content, exactly `sizeBytes` long or an error; empty for everything but files. Made when first asked for. What is
   * not read is skipped. Reading it after the next member was asked for is a `TypeError`.
   */
  readonly content: ReadableStream<Uint8Array>
  /**
   * The whole content at once: much faster than the stream for small files. The result may share memory with the input.
   * Not together with {@link content}.
   */
  bytes(): Promise<Uint8Array>
}

/** One member to be written. Every {@link ArchiveMember} can be written as it is. */
export interface ArchiveEntry {
  readonly path: RelativePath
  readonly type: ArchiveMemberType
  /** Permission bits, 0–0o7777. */
  readonly mode: number
  /** Nanoseconds since 1970; must fit a signed 64-bit integer. */
  readonly mtimeNs: bigint
  /** For files: exactly the length of the content. Default: the content's length when it is bytes, else 0. */
  readonly sizeBytes?: number
  /** For links, and only for them. */
  readonly linkTarget?: string
  /** Default 0. */
  readonly uid?: number
  /** Default 0. */
  readonly gid?: number
  /** For files. Default: nothing, for an empty file. Bytes are the fast way for small files. */
  readonly content?: Uint8Array | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>
}
