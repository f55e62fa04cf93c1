import { close, constants, fstat, fsync, open, read, write, type Stats } from 'node:fs'
import { unlink } from 'node:fs/promises'
import { promisify } from 'node:util'
import { errnoOf } from './map-file-error.js'

// The callback functions on plain descriptors cost about half of what FileHandle does, and a record is read in four calls.
const openAsync = promisify(open)
const closeAsync = promisify(close)
const fstatAsync = promisify(fstat)
const fsyncAsync = promisify(fsync)

const READ_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** A regular file that is open for reading. */
export interface OpenFile {
  readonly stat: Stats
  /** Bytes read into `buffer`, 0 at the end. */
  readInto(buffer: Uint8Array, position: number): Promise<number>
  close(): Promise<void>
}

/**
 * Opens for reading; undefined when nothing is there. A link, FIFO, device or folder is refused with `ELOOP`, not opened.
 */
export async function openRegular(path: string): Promise<OpenFile | undefined> {
  let fd: number
  try {
    fd = await openAsync(path, READ_FLAGS)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
  try {
    const stat = await fstatAsync(fd)
    if (!stat.isFile()) throw notRegular(path)
    return { stat, readInto: (buffer, position) => readAsync(fd, buffer, position), close: () => closeAsync(fd) }
  } catch (error) {
    await closeAsync(fd)
    throw error
  }
}

export interface FileContents {
  readonly bytes: Uint8Array
  readonly stat: Stats
}

/** The whole of a regular file and its stat from before, undefined when nothing is there. */
export async function readRegular(path: string, maxBytes: number): Promise<FileContents | undefined> {
  const file = await openRegular(path)
  if (file === undefined) return undefined
  try {
    const bytes = Buffer.allocUnsafe(Math.min(file.stat.size, maxBytes))
    let filled = 0
    while (filled < bytes.length) {
      const count = await file.readInto(bytes.subarray(filled), filled)
      if (count === 0) break
      filled += count
    }
    return { bytes: bytes.subarray(0, filled), stat: file.stat }
  } finally {
    await file.close()
  }
}

/** A new file, mode 0600, while it is being filled. */
export interface NewFile {
  write(bytes: Uint8Array): Promise<void>
  /** Puts it on the disk, if asked to when it was opened, and closes it. */
  finish(): Promise<void>
  /** Closes and removes it. Does nothing after `finish`. */
  discard(): Promise<void>
}

export async function createNew(path: string, options: { readonly fsync: boolean }): Promise<NewFile> {
  const fd = await openAsync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
  let isOpen = true
  const shut = async (): Promise<void> => {
    isOpen = false
    await closeAsync(fd)
  }
  return {
    async write(bytes) {
      for (let done = 0; done < bytes.length;) done += await writeAsync(fd, bytes.subarray(done))
    },
    async finish() {
      if (options.fsync) await fsyncAsync(fd)
      await shut()
    },
    async discard() {
      if (!isOpen) return
      await shut()
      await unlink(path)
    },
  }
}

/** Writes a new file, mode 0600, and with `fsync` puts it on the disk. When that fails, nothing is left at `path`. */
export async function writeNew(path: string, bytes: Uint8Array, options: { readonly fsync: boolean }): Promise<void> {
  const file = await createNew(path, options)
  try {
    await file.write(bytes)
    await file.finish()
  } catch (error) {
    // What went wrong first is what is told; a leftover is swept at the next start.
    await file.discard().catch(() => undefined)
    throw error
  }
}

/** Puts the names in a folder on the disk. */
export async function syncFolder(path: string): Promise<void> {
  const fd = await openAsync(path, constants.O_RDONLY | (constants.O_DIRECTORY ?? 0))
  try {
    await fsyncAsync(fd)
  } catch (error) {
    // Some file systems cannot do this for folders and say so; their names are as durable as they get.
    if (!['EINVAL', 'ENOTSUP', 'EISDIR'].includes(errnoOf(error) ?? '')) throw error
  } finally {
    await closeAsync(fd)
  }
}

function readAsync(fd: number, buffer: Uint8Array, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    read(fd, buffer, 0, buffer.length, position, (error, count) => (error === null ? resolve(count) : reject(error)))
  })
}

function writeAsync(fd: number, bytes: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, 0, bytes.length, null, (error, count) => (error === null ? resolve(count) : reject(error)))
  })
}

function notRegular(path: string): NodeJS.ErrnoException {
  return Object.assign(new TypeError(`${path} is no regular file`), { code: 'ELOOP', syscall: 'open', path })
}
