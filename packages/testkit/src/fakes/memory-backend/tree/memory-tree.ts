import type { Clock } from '@cofferdam/core/plugin'
import { isWithin } from './nodes.js'
import type { DirNode, FileNode, LinkNode, Node } from './nodes.js'
import { PosixError } from './posix-error.js'
import { walk } from './walk.js'
import type { Place } from './walk.js'

const NOTHING = new Uint8Array(0)

/**
 * A file system of one sandbox: inodes with hard links, symbolic links, modes and times in nanoseconds. Everything in it
 * happens at once, as far as anybody can see, because nothing in it waits.
 */
export class MemoryTree {
  readonly root: DirNode
  readonly #clock: Clock
  #nextInode = 1n
  #lastTimeNs = 0n

  constructor(clock: Clock) {
    this.#clock = clock
    this.root = this.newDirectory(0o755)
    this.root.links = 2
  }

  walk(path: string, options: { readonly from?: DirNode; readonly follow?: boolean } = {}): Place {
    return walk({ root: this.root, path, from: options.from ?? this.root, follow: options.follow ?? true })
  }

  newDirectory(mode: number): DirNode {
    return { type: 'directory', entries: new Map(), parent: null, name: '', ...this.#newNode(mode) }
  }

  newFile(mode: number): FileNode {
    return { type: 'file', bytes: NOTHING, sizeBytes: 0, ...this.#newNode(mode) }
  }

  newLink(target: string): LinkNode {
    return { type: 'symlink', target, ...this.#newNode(0o777) }
  }

  /** Puts a node where nothing is. */
  add(parent: DirNode, name: string, node: Node): void {
    if (parent.parent === null && parent !== this.root) throw new PosixError('ENOENT')
    if (parent.entries.has(name)) throw new PosixError('EEXIST')
    this.#attach(parent, name, node)
  }

  /** Puts a node over a file or link, or where nothing is: what rename(2) does for a temporary file. */
  replace(parent: DirNode, name: string, node: Node): void {
    const old = parent.entries.get(name)
    if (old?.type === 'directory') throw new PosixError('EISDIR')
    if (parent.parent === null && parent !== this.root) throw new PosixError('ENOENT')
    if (old !== undefined) this.#detach(parent, name, old)
    this.#attach(parent, name, node)
  }

  link(existing: Node, parent: DirNode, name: string): void {
    if (existing.type === 'directory') throw new PosixError('EPERM')
    this.add(parent, name, existing)
    existing.ctimeNs = this.nextTimeNs()
  }

  /** Removes a file, a link or an empty directory. */
  remove(place: Place): void {
    const { parent, name, node } = place
    if (node === undefined) throw new PosixError('ENOENT')
    if (node === this.root) throw new PosixError('EPERM')
    if (node.type === 'directory' && node.entries.size > 0) throw new PosixError('ENOTEMPTY')
    this.#detach(parent, name, node)
  }

  /** Removes a node with everything beneath it. Links are removed, not followed. */
  removeAll(place: Place): void {
    const { node } = place
    if (node?.type === 'directory') {
      for (const [name, child] of [...node.entries]) this.removeAll({ parent: node, name, node: child })
    }
    this.remove(place)
  }

  rename(from: Place, to: Place): void {
    const { node } = from
    if (node === undefined) throw new PosixError('ENOENT')
    const old = to.node
    if (old === node) return
    if (node.type === 'directory' && isWithin(to.parent, node)) throw new PosixError('EINVAL')
    if (old !== undefined) this.#checkReplaceable(node, old)
    if (to.parent.parent === null && to.parent !== this.root) throw new PosixError('ENOENT')
    if (old !== undefined) this.#detach(to.parent, to.name, old)
    const { mtimeNs } = node
    this.#detach(from.parent, from.name, node)
    this.#attach(to.parent, to.name, node)
    node.mtimeNs = mtimeNs
  }

  /** Writes into the file itself, growing it with zeros where needed. */
  writeAt(file: FileNode, offset: number, data: Uint8Array): void {
    const end = offset + data.length
    if (end > file.bytes.length) {
      const grown = new Uint8Array(Math.max(end, Math.min(file.bytes.length * 2, end + (1 << 20))))
      grown.set(file.bytes.subarray(0, file.sizeBytes))
      file.bytes = grown
    }
    file.bytes.set(data, offset)
    file.sizeBytes = Math.max(file.sizeBytes, end)
    file.mtimeNs = file.ctimeNs = this.nextTimeNs()
  }

  truncate(file: FileNode): void {
    file.bytes = NOTHING
    file.sizeBytes = 0
    file.mtimeNs = file.ctimeNs = this.nextTimeNs()
  }

  chmod(node: Node, mode: number): void {
    node.mode = mode & 0o7777
    node.ctimeNs = this.nextTimeNs()
  }

  setMtime(node: Node, mtimeNs: bigint): void {
    node.mtimeNs = mtimeNs
    node.ctimeNs = this.nextTimeNs()
  }

  /** The clock's time; two changes never have the same. */
  nextTimeNs(): bigint {
    const nowNs = BigInt(Math.round(this.#clock.nowMs() * 1_000)) * 1_000n
    this.#lastTimeNs = nowNs > this.#lastTimeNs ? nowNs : this.#lastTimeNs + 1n
    return this.#lastTimeNs
  }

  #checkReplaceable(node: Node, old: Node): void {
    if (node.type === 'directory') {
      if (old.type !== 'directory') throw new PosixError('ENOTDIR')
      if (old.entries.size > 0) throw new PosixError('ENOTEMPTY')
    } else if (old.type === 'directory') throw new PosixError('EISDIR')
  }

  #attach(parent: DirNode, name: string, node: Node): void {
    parent.entries.set(name, node)
    if (node.type === 'directory') {
      node.parent = parent
      node.name = name
      node.links = 2
      parent.links++
    } else node.links++
    parent.mtimeNs = parent.ctimeNs = this.nextTimeNs()
    node.ctimeNs = parent.ctimeNs
  }

  #detach(parent: DirNode, name: string, node: Node): void {
    parent.entries.delete(name)
    if (node.type === 'directory') {
      node.parent = null
      node.links = 0
      parent.links--
    } else node.links--
    parent.mtimeNs = parent.ctimeNs = node.ctimeNs = this.nextTimeNs()
  }

  #newNode(mode: number): { inode: bigint; mode: number; mtimeNs: bigint; ctimeNs: bigint; links: number } {
    const nowNs = this.nextTimeNs()
    return { inode: this.#nextInode++, mode: mode & 0o7777, mtimeNs: nowNs, ctimeNs: nowNs, links: 0 }
  }
}
