import { assertNotAborted } from '@cofferdam/core/plugin'
import type {
  ByteSource,
  DirEntry,
  FileRead,
  FileStat,
  FileToWrite,
  ReadRange,
  SandboxFiles,
  TreeEntry,
  TreeOptions,
  WriteOptions,
} from '@cofferdam/core/plugin'
import { canonicalPathText, comparePaths } from '@cofferdam/core/path'
import { collectBytes } from './collect-bytes.js'
import { argumentError, deniedError, errnoError, pathError } from './file-errors.js'
import { readStream } from './file-stream.js'
import { FilePlaces } from './file-places.js'
import type { Machine } from './process/machine.js'
import { statOf } from './tree/nodes.js'
import type { DirNode, FileNode, Node } from './tree/nodes.js'
import { PosixError } from './tree/posix-error.js'
import type { Place } from './tree/walk.js'
import { writeEntries } from './write-entries.js'

/** Throws when the handle may not do this now. */
export type Gate = (access: 'read' | 'write') => void

/** Files of one sandbox through one handle. */
export class MemoryFiles implements SandboxFiles {
  readonly #machine: Machine
  readonly #gate: Gate
  readonly #places: FilePlaces

  constructor(machine: Machine, gate: Gate) {
    this.#machine = machine
    this.#gate = gate
    this.#places = new FilePlaces(machine)
  }

  async stat(path: string): Promise<FileStat | undefined> {
    this.#gate('read')
    const { node } = this.#places.find(path, { operation: 'files.stat', follow: false, missing: 'anywhere' })
    return node === undefined ? undefined : statOf(node)
  }

  async readlink(path: string): Promise<string> {
    this.#gate('read')
    const { node } = this.#places.find(path, { operation: 'files.readlink', follow: false })
    if (node === undefined) throw pathError('not_found', path, 'files.readlink')
    if (node.type !== 'symlink') throw argumentError('path', `${JSON.stringify(path)} is not a link`)
    return node.target
  }

  async *list(path: string): AsyncGenerator<DirEntry> {
    this.#gate('read')
    const directory = this.#directory(path, 'files.list')
    for (const name of sortedNames(directory)) {
      const node = directory.entries.get(name)
      if (node !== undefined) yield { name, type: node.type }
    }
  }

  async read(path: string, range: ReadRange = {}): Promise<ReadableStream<Uint8Array>> {
    this.#gate('read')
    const file = this.#file(path, 'files.read')
    return readStream(file, checkedRange(range), this.#machine.counter)
  }

  async write(path: string, data: ByteSource, options: WriteOptions = {}): Promise<void> {
    this.#gate('write')
    const operation = 'files.write'
    const follow = options.exclusive !== true
    const target = this.#places.find(path, { operation, follow })
    checkTarget(path, target, options)
    const bytes = await collectBytes(data, options.signal, operation)
    this.#gate('write')
    await this.#attempt(path, operation, () => this.#commit(target, bytes, options))
  }

  async mkdir(path: string, options: { readonly recursive?: boolean; readonly mode?: number } = {}): Promise<void> {
    this.#gate('write')
    const operation = 'files.mkdir'
    const mode = options.mode ?? 0o755
    if (options.recursive !== true) return this.#makeDirectory(path, mode)
    const parts = path.split('/')
    for (let count = 2; count <= parts.length; count++) {
      if (parts[count - 1] === '' && count < parts.length) continue
      const prefix = parts.slice(0, count).join('/') || '/'
      const place = this.#places.find(prefix, {
        operation,
        follow: true,
        missing: 'here',
        outside: count < parts.length,
      })
      if (place.node?.type === 'directory') continue
      if (place.node !== undefined)
        throw pathError(count < parts.length ? 'not_a_directory' : 'already_exists', path, operation)
      await this.#makeDirectory(prefix, mode)
    }
  }

  async remove(
    path: string,
    options: { readonly recursive?: boolean; readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    this.#gate('write')
    const operation = 'files.remove'
    assertNotAborted(options.signal, operation)
    const place = this.#places.find(path, { operation, follow: false })
    this.#refuseRoot(path, place, operation)
    await this.#attempt(path, operation, () => {
      if (options.recursive === true) this.#machine.tree.removeAll(place)
      else this.#machine.tree.remove(place)
    })
  }

  async rename(from: string, to: string): Promise<void> {
    this.#gate('write')
    const operation = 'files.rename'
    const source = this.#places.find(from, { operation, follow: false })
    if (source.node === undefined) throw pathError('not_found', from, operation)
    const target = this.#places.find(to, { operation, follow: false })
    this.#refuseRoot(from, source, operation)
    this.#refuseRoot(to, target, operation)
    await this.#attempt(to, operation, () => this.#machine.tree.rename(source, target))
  }

  async link(existing: string, path: string): Promise<void> {
    this.#gate('write')
    const operation = 'files.link'
    const { node } = this.#places.find(existing, { operation, follow: false })
    if (node === undefined) throw pathError('not_found', existing, operation)
    const to = this.#places.find(path, { operation, follow: false })
    await this.#attempt(path, operation, () => this.#machine.tree.link(node, to.parent, to.name))
  }

  async symlink(target: string, path: string): Promise<void> {
    this.#gate('write')
    if (target === '' || target.includes('\0')) throw argumentError('target', 'a link needs a target without NUL')
    const to = this.#places.find(path, { operation: 'files.symlink', follow: false })
    const { tree } = this.#machine
    await this.#attempt(path, 'files.symlink', () =>
      tree.add(to.parent, to.name, tree.newLink(canonicalPathText(target))),
    )
  }

  async chmod(path: string, mode: number): Promise<void> {
    this.#gate('write')
    if (!Number.isInteger(mode) || mode < 0 || mode > 0o7777) throw argumentError('mode', 'a mode is 0 to 0o7777')
    this.#machine.tree.chmod(this.#existing(path, 'files.chmod'), mode)
  }

  async utimens(path: string, mtimeNs: bigint): Promise<void> {
    this.#gate('write')
    this.#machine.tree.setMtime(this.#existing(path, 'files.utimens'), mtimeNs)
  }

  async *tree(root: string, options: TreeOptions = {}): AsyncGenerator<TreeEntry> {
    this.#gate('read')
    yield* walkTree(this.#directory(root, 'files.tree'), '', options)
  }

  async *readMany(
    paths: AsyncIterable<string> | Iterable<string>,
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<FileRead> {
    for await (const path of paths) {
      assertNotAborted(options.signal, 'files.readMany')
      this.#gate('read')
      const { node } = this.#places.find(path, { operation: 'files.readMany', follow: true, missing: 'anywhere' })
      if (node === undefined) continue
      if (node.type !== 'file') throw pathError('is_a_directory', path, 'files.readMany')
      const content = readStream(node, { offset: 0, length: Infinity }, this.#machine.counter)
      yield { path, stat: statOf(node), content, bytes: null, after: () => Promise.resolve(statOf(node)) }
    }
  }

  async writeMany(
    entries: AsyncIterable<FileToWrite> | Iterable<FileToWrite>,
    into: string,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    this.#gate('write')
    const root = this.#directory(into, 'files.writeMany')
    await writeEntries({ tree: this.#machine.tree, root, entries, gate: () => this.#gate('write'), ...options })
  }

  /** What the whole file becomes, in one step. */
  #commit(target: Place, bytes: Uint8Array, options: WriteOptions): void {
    const { tree } = this.#machine
    const now = target.parent.entries.get(target.name)
    if (options.exclusive === true && now !== undefined) throw new PosixError('EEXIST')
    const old = now?.type === 'file' ? now : undefined
    if (options.append === true && old !== undefined) {
      tree.writeAt(old, old.sizeBytes, bytes)
      if (options.mode !== undefined) tree.chmod(old, options.mode)
      return
    }
    const file = tree.newFile(options.mode ?? old?.mode ?? 0o644)
    file.bytes = bytes
    file.sizeBytes = bytes.length
    tree.replace(target.parent, target.name, file)
  }

  async #makeDirectory(path: string, mode: number): Promise<void> {
    const operation = 'files.mkdir'
    const place = this.#places.find(path.replace(/(?<=[^/])\/+$/, ''), { operation, follow: false })
    const { tree } = this.#machine
    await this.#attempt(path, operation, () => tree.add(place.parent, place.name, tree.newDirectory(mode)))
  }

  #refuseRoot(path: string, place: Place, operation: string): void {
    if (this.#places.isRoot(place.node)) throw deniedError(path, operation, 'the root itself stays where it is')
  }

  #existing(path: string, operation: string): Node {
    const { node } = this.#places.find(path, { operation, follow: true })
    if (node === undefined) throw pathError('not_found', path, operation)
    return node
  }

  #file(path: string, operation: string): FileNode {
    const node = this.#existing(path, operation)
    if (node.type !== 'file') throw pathError('is_a_directory', path, operation)
    return node
  }

  #directory(path: string, operation: string): DirNode {
    const node = this.#existing(path, operation)
    if (node.type !== 'directory') throw pathError('not_a_directory', path, operation)
    return node
  }

  async #attempt(path: string, operation: string, action: () => void): Promise<void> {
    try {
      action()
    } catch (error) {
      if (error instanceof PosixError) throw errnoError(error.errno, path, operation)
      throw error
    }
  }
}

/** Refused before the bytes are taken. */
function checkTarget(path: string, target: Place, options: WriteOptions): void {
  const operation = 'files.write'
  const { node } = target
  if (options.exclusive === true && node !== undefined) throw pathError('already_exists', path, operation)
  if (node?.type === 'directory') throw pathError('is_a_directory', path, operation)
  if (path.endsWith('/')) throw pathError('not_a_directory', path, operation)
}

function checkedRange(range: ReadRange): { readonly offset: number; readonly length: number } {
  const { offset = 0, length = Infinity } = range
  const valid =
    Number.isInteger(offset) && offset >= 0 && length >= 0 && (length === Infinity || Number.isInteger(length))
  if (!valid) throw argumentError('range', 'offset and length are whole numbers from 0')
  return { offset, length }
}

async function* walkTree(directory: DirNode, prefix: string, options: TreeOptions): AsyncGenerator<TreeEntry> {
  for (const name of sortedNames(directory)) {
    assertNotAborted(options.signal, 'files.tree')
    const node = directory.entries.get(name)
    if (node === undefined) continue
    const path = prefix + name
    if (options.exclude?.(path, node.type) === true) continue
    yield { path, ...statOf(node), linkTarget: node.type === 'symlink' ? node.target : null }
    if (node.type === 'directory') yield* walkTree(node, `${path}/`, options)
  }
}

function sortedNames(directory: DirNode): string[] {
  return [...directory.entries.keys()].sort(comparePaths)
}
