import { createHash } from 'node:crypto'
import type { Hash } from 'node:crypto'
import { SandboxError } from '../errors/sandbox-error.js'
import { comparePaths, encodePath } from '../path/path-bytes.js'

/** One line of what the digest is made of. */
export interface DigestEntry {
  readonly path: string
  readonly type: 'file' | 'directory' | 'symlink' | 'hardlink'
  /** Permission bits. Of symbolic and hard links it does not count. */
  readonly mode: number
  /** Of hard links it does not count: it is the file's. */
  readonly mtimeNs: bigint
  /** Of files; of all others it does not count. */
  readonly sizeBytes: number
  /** Of symbolic links as written, of hard links the path of the file. */
  readonly linkTarget?: string
  /** Of files: lower-case hex sha256 of the content. */
  readonly contentSha256?: string
}

/**
 * The digest of a tree, the same on every backend: sha256, in lower-case hex, of
 *
 * - the 17 bytes `cofferdam-tree-1\n`,
 * - then for each entry, in the order of `comparePaths` (bytes of each path component, parents first), seven fields, each as
 *   its length in bytes (unsigned 32 bits, big endian) and its bytes:
 *   1. the path's bytes, relative to the root and without slashes at its ends
 *   2. `file`, `directory`, `symlink` or `hardlink`
 *   3. the permission bits in octal without leading zeros (`644`); empty for links of both kinds
 *   4. the modification time in nanoseconds since 1970, decimal; empty for hard links
 *   5. the size in bytes, decimal; empty for everything but files
 *   6. the link's target as bytes; empty for files and directories
 *   7. the lower-case hex sha256 of the content; empty for everything but files
 *
 * A file with several names is a `file` at the first of them in that order and a `hardlink` to that one at the others. The
 * root itself, owners, other times and whatever a snapshot leaves out are no part of it.
 */
export class TreeDigest {
  readonly #hash: Hash = createHash('sha256').update('cofferdam-tree-1\n')
  #last = ''
  /** Files, counted by name. */
  files = 0
  /** Contents of the files; one with several names counts once. */
  bytes = 0

  /** Throws `internal` when the path does not come after the one before. */
  add(entry: DigestEntry): void {
    if (this.#last !== '' && comparePaths(this.#last, entry.path) >= 0) throw outOfOrder(entry.path)
    this.#last = entry.path
    const isLink = entry.type === 'symlink' || entry.type === 'hardlink'
    this.#hash.update(
      frame([
        encodePath(entry.path),
        entry.type,
        isLink ? '' : entry.mode.toString(8),
        entry.type === 'hardlink' ? '' : entry.mtimeNs.toString(),
        entry.type === 'file' ? entry.sizeBytes.toString() : '',
        entry.linkTarget === undefined ? '' : encodePath(entry.linkTarget),
        entry.contentSha256 ?? '',
      ]),
    )
    if (entry.type === 'file' || entry.type === 'hardlink') this.files++
    if (entry.type === 'file') this.bytes += entry.sizeBytes
  }

  /** Ends it. */
  digest(): string {
    return this.#hash.digest('hex')
  }
}

function frame(fields: ReadonlyArray<string | Uint8Array>): Uint8Array {
  const parts: Uint8Array[] = []
  for (const field of fields) {
    const bytes = typeof field === 'string' ? Buffer.from(field, 'latin1') : field
    const length = Buffer.allocUnsafe(4)
    length.writeUInt32BE(bytes.length)
    parts.push(length, bytes)
  }
  return Buffer.concat(parts)
}

function outOfOrder(path: string): SandboxError<'internal'> {
  const reason = `the tree is not in byte order at ${JSON.stringify(path)}`
  return new SandboxError('internal', `The digest of a tree cannot be made: ${reason}.`, { reason })
}
