import type { FileStat, FileType } from '@cofferdam/core/plugin'

/** What every inode has. */
interface NodeBase {
  readonly inode: bigint
  mode: number
  mtimeNs: bigint
  ctimeNs: bigint
  links: number
}

export interface DirNode extends NodeBase {
  readonly type: 'directory'
  readonly entries: Map<string, Node>
  /** Null for `/` and for a directory that was removed. */
  parent: DirNode | null
  name: string
}

export interface FileNode extends NodeBase {
  readonly type: 'file'
  /** Room for more than `sizeBytes`, so that appending is cheap. */
  bytes: Uint8Array
  sizeBytes: number
}

export interface LinkNode extends NodeBase {
  readonly type: 'symlink'
  readonly target: string
}

/** An inode. Hard links are entries with the same node. */
export type Node = DirNode | FileNode | LinkNode

export function statOf(node: Node): FileStat {
  return {
    type: node.type satisfies FileType,
    mode: node.mode,
    sizeBytes: sizeOf(node),
    mtimeNs: node.mtimeNs,
    ctimeNs: node.ctimeNs,
    inode: node.inode,
    uid: 0,
    gid: 0,
    links: node.links,
  }
}

/** Absolute path of a directory that is still in the tree. */
export function directoryPath(directory: DirNode): string {
  const names: string[] = []
  for (let at = directory; at.parent !== null; at = at.parent) names.push(at.name)
  return `/${names.reverse().join('/')}`
}

/** Whether `directory` is `root` or lies beneath it. */
export function isWithin(directory: DirNode, root: DirNode): boolean {
  for (let at: DirNode | null = directory; at !== null; at = at.parent) if (at === root) return true
  return false
}

function sizeOf(node: Node): number {
  if (node.type === 'file') return node.sizeBytes
  return node.type === 'symlink' ? Buffer.byteLength(node.target, 'utf8') : 4096
}
