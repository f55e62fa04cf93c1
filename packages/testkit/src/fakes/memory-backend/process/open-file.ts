import { PosixError } from '../tree/posix-error.js'
import type { MemoryTree } from '../tree/memory-tree.js'
import type { FileNode } from '../tree/nodes.js'
import { WakeList } from './wake-list.js'

/** Who reads and writes: a process, which is held, and ended, at each of these. */
export interface FileUser {
  checkpoint(): Promise<void>
  /** Waits until `register`'s callback is called. */
  block(register: (wake: () => void) => () => void): Promise<void>
  /** It wrote to a pipe that nobody reads. */
  breakPipe(): never
}

/** An open file description: shared by the descriptors, and the processes, that it was handed to. */
export interface OpenFile {
  /** Null at the end. */
  read(process: FileUser, maxBytes: number): Promise<Uint8Array | null>
  write(process: FileUser, bytes: Uint8Array): Promise<void>
  /** One more descriptor refers to it. */
  retain(): void
  release(): void
}

export const NULL_DEVICE: OpenFile = {
  read: () => Promise.resolve(null),
  write: () => Promise.resolve(),
  retain() {},
  release() {},
}

/** A file of the tree with its offset. */
export class FileDescription implements OpenFile {
  readonly #tree: MemoryTree
  readonly #file: FileNode
  readonly #append: boolean
  #offset = 0

  constructor(tree: MemoryTree, file: FileNode, append: boolean) {
    this.#tree = tree
    this.#file = file
    this.#append = append
  }

  async read(process: FileUser, maxBytes: number): Promise<Uint8Array | null> {
    await process.checkpoint()
    const chunk = this.#file.bytes.slice(this.#offset, Math.min(this.#file.sizeBytes, this.#offset + maxBytes))
    this.#offset += chunk.length
    return chunk.length === 0 ? null : chunk
  }

  async write(process: FileUser, bytes: Uint8Array): Promise<void> {
    await process.checkpoint()
    if (this.#append) this.#offset = this.#file.sizeBytes
    this.#tree.writeAt(this.#file, this.#offset, bytes)
    this.#offset += bytes.length
  }

  retain(): void {}

  release(): void {}
}

const PIPE_BYTES = 65_536

/** A pipe: as much as fits in between, the writer waits for the reader and the reader for the writer. */
export class Pipe {
  readonly reader: OpenFile = new PipeReader(this)
  readonly writer: OpenFile = new PipeWriter(this)
  readonly changed: WakeList = new WakeList()
  readers = 0
  writers = 0
  readonly #chunks: Uint8Array[] = []
  #bytes = 0

  get room(): number {
    return Math.max(0, PIPE_BYTES - this.#bytes)
  }

  get isEmpty(): boolean {
    return this.#bytes === 0
  }

  push(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    this.#chunks.push(bytes)
    this.#bytes += bytes.length
    this.changed.wakeAll()
  }

  take(maxBytes: number): Uint8Array {
    const first = this.#chunks[0]!
    const taken = first.subarray(0, maxBytes)
    if (taken.length === first.length) this.#chunks.shift()
    else this.#chunks[0] = first.subarray(maxBytes)
    this.#bytes -= taken.length
    this.changed.wakeAll()
    return taken
  }
}

class PipeReader implements OpenFile {
  readonly #pipe: Pipe

  constructor(pipe: Pipe) {
    this.#pipe = pipe
  }

  async read(process: FileUser, maxBytes: number): Promise<Uint8Array | null> {
    await process.checkpoint()
    while (this.#pipe.isEmpty) {
      if (this.#pipe.writers === 0) return null
      await process.block((wake) => this.#pipe.changed.add(wake))
    }
    return this.#pipe.take(maxBytes)
  }

  write(): Promise<void> {
    return Promise.reject(new PosixError('EINVAL'))
  }

  retain(): void {
    this.#pipe.readers++
  }

  release(): void {
    this.#pipe.readers--
    this.#pipe.changed.wakeAll()
  }
}

class PipeWriter implements OpenFile {
  readonly #pipe: Pipe

  constructor(pipe: Pipe) {
    this.#pipe = pipe
  }

  read(): Promise<null> {
    return Promise.reject(new PosixError('EINVAL'))
  }

  async write(process: FileUser, bytes: Uint8Array): Promise<void> {
    let rest = bytes
    await process.checkpoint()
    while (rest.length > 0) {
      if (this.#pipe.readers === 0) return process.breakPipe()
      const room = this.#pipe.room
      if (room === 0) {
        await process.block((wake) => this.#pipe.changed.add(wake))
        continue
      }
      this.#pipe.push(rest.slice(0, room))
      rest = rest.subarray(room)
    }
  }

  retain(): void {
    this.#pipe.writers++
  }

  release(): void {
    this.#pipe.writers--
    this.#pipe.changed.wakeAll()
  }
}
