import type { BigIntStats } from 'node:fs'
import type { FileStat, FileType } from '../contracts/files.js'

/** What lstat or fstat gave, in the contract's words. */
export function toFileStat(stat: BigIntStats): FileStat {
  return {
    type: fileTypeOf(stat),
    mode: Number(stat.mode & 0o7777n),
    sizeBytes: Number(stat.size),
    mtimeNs: stat.mtimeNs,
    ctimeNs: stat.ctimeNs,
    inode: stat.ino,
    uid: Number(stat.uid),
    gid: Number(stat.gid),
    links: Number(stat.nlink),
  }
}

/** What a stat and a directory entry can both be asked. */
type TypeQuestions = Pick<BigIntStats, 'isFile' | 'isDirectory' | 'isSymbolicLink' | 'isFIFO' | 'isSocket'>

export function fileTypeOf(entry: TypeQuestions): FileType {
  if (entry.isFile()) return 'file'
  if (entry.isDirectory()) return 'directory'
  if (entry.isSymbolicLink()) return 'symlink'
  if (entry.isFIFO()) return 'fifo'
  if (entry.isSocket()) return 'socket'
  return 'device'
}

export function isSameFile(a: BigIntStats, b: BigIntStats): boolean {
  return a.ino === b.ino && a.dev === b.dev
}
