import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  openSync,
  renameSync,
  unlinkSync,
} from 'node:fs'
import type { BigIntStats } from 'node:fs'
import { randomBytes } from 'node:crypto'
import type { ByteSource, WriteOptions } from '../contracts/files.js'
import { assertNotAborted } from '../errors/assert-not-aborted.js'
import { contentsOf, fillFile, giveUp } from './fill-file.js'
import { alreadyExists, errnoOf, mapFileError, pathDenied } from './map-error.js'
import { assertFile, openContent } from './open-content.js'
import type { EntryPlace, PathResolver, WriteTarget } from './resolve-path.js'
import type { Place } from './place.js'

const DEFAULT_MODE = 0o644
const MAX_ATTEMPTS = 16

const tempPrefix = `.cofferdam-${randomBytes(6).toString('hex')}`
let temps = 0

export interface WriteRequest {
  readonly path: string
  readonly data: ByteSource
  readonly options: WriteOptions
  /** Called right before anything becomes visible; throws when it must not. */
  readonly beforeWrite: () => void
}

/** `SandboxFiles.write` over host directories. */
export async function writeFile(resolver: PathResolver, request: WriteRequest): Promise<void> {
  try {
    assertNotAborted(request.options.signal, 'files.write')
    request.beforeWrite()
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) if (await tryWrite(resolver, request)) return
    throw pathDenied(request.path, 'it is being changed faster than it can be written')
  } catch (error) {
    await giveUp(request.data)
    throw mapFileError(error, request.path)
  }
}

/** False: somebody else made or moved the file meanwhile, nothing was read from the source, and it is to be tried again. */
async function tryWrite(resolver: PathResolver, request: WriteRequest): Promise<boolean> {
  const target = resolver.writeTarget(request.path)
  try {
    if (request.options.exclusive === true) assertFree(resolver, target, request.path)
    if (target.existing !== undefined) {
      assertFile(target.existing, request.path)
    }
    return await (request.options.append === true ? append(target, request) : replace(target, request))
  } finally {
    target.existing?.close()
    target.entry?.directory.close()
  }
}

/** As O_EXCL: a link is something, wherever it leads. */
function assertFree(resolver: PathResolver, target: WriteTarget, path: string): void {
  if (target.existing !== undefined) throw alreadyExists(path)
  const { directory, name } = resolver.entry(path, 'write')
  try {
    if (lstatSync(directory.child(name), { throwIfNoEntry: false }) !== undefined) throw alreadyExists(path)
  } finally {
    directory.close()
  }
}

async function replace(target: WriteTarget, request: WriteRequest): Promise<boolean> {
  const { existing, entry } = target
  const temp = entry && openTemp(entry, existing)
  if (entry === undefined || temp === undefined) {
    await overwrite(existing, request)
    return true
  }
  let moved = false
  try {
    await fillFile(temp.fd, request.data, request.options)
    if (takesOver(temp.fd, existing?.stat, request.options.mode)) {
      request.beforeWrite()
      moved = putInPlace(entry, temp.name, request)
    }
    if (!moved) await overwrite(existing, { ...request, data: contentsOf(temp.fd) })
    return true
  } finally {
    closeSync(temp.fd)
    if (!moved) unlinkSync(entry.directory.child(temp.name))
  }
}

/** A new file beside the target. Undefined: none can be made there, and the target is a mount point of its own. */
function openTemp(
  entry: EntryPlace,
  existing: Place | undefined,
): { readonly fd: number; readonly name: string } | undefined {
  for (;;) {
    const name = `${tempPrefix}-${++temps}.tmp`
    try {
      // To be read as well: what was streamed here may have to be copied onto a mount point.
      const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
      return { fd: openSync(entry.directory.child(name), flags, 0o600), name }
    } catch (error) {
      const code = errnoOf(error)
      if (code === 'EEXIST') continue
      const denied = code === 'EROFS' || code === 'EACCES' || code === 'EPERM'
      if (denied && existing !== undefined && existing.mountId() !== entry.directory.mountId()) return undefined
      throw error
    }
  }
}

/** Gives the new file the old one's owner and mode. False: the owner can only be kept by writing into the old one. */
function takesOver(fd: number, old: BigIntStats | undefined, mode: number | undefined): boolean {
  if (old !== undefined) {
    const ours = fstatSync(fd, { bigint: true })
    if (ours.uid !== old.uid || ours.gid !== old.gid) {
      try {
        fchownSync(fd, Number(old.uid), Number(old.gid))
      } catch (error) {
        if (errnoOf(error) === 'EPERM') return false
        throw error
      }
    }
  }
  fchmodSync(fd, mode ?? (old === undefined ? DEFAULT_MODE : Number(old.mode & 0o7777n)))
  return true
}

/** False: the target is a mount point in this mount namespace, see rename(2), and can only be written into. */
function putInPlace(entry: EntryPlace, temp: string, request: WriteRequest): boolean {
  const { directory, name } = entry
  try {
    if (request.options.exclusive === true) {
      linkSync(directory.child(temp), directory.child(name))
      unlinkSync(directory.child(temp))
    } else {
      renameSync(directory.child(temp), directory.child(name))
    }
    return true
  } catch (error) {
    if (errnoOf(error) === 'EBUSY') return false
    throw error
  }
}

/** In place: readers may see a part. For mount points, which cannot be replaced. */
async function overwrite(existing: Place | undefined, request: WriteRequest): Promise<void> {
  if (existing === undefined) throw pathDenied(request.path, 'a mount point is in the way')
  request.beforeWrite()
  const fd = openContent(existing, request.path, constants.O_WRONLY | constants.O_TRUNC)
  try {
    await fillFile(fd, request.data, request.options)
    if (request.options.mode !== undefined) fchmodSync(fd, request.options.mode)
  } finally {
    closeSync(fd)
  }
}

/** False: the name is not free any more. */
async function append(target: WriteTarget, request: WriteRequest): Promise<boolean> {
  const fd = openForAppend(target, request.path)
  if (fd === undefined) return false
  const { existing, entry } = target
  const progress = { bytes: 0 }
  const before = Number(fstatSync(fd).size)
  try {
    await fillFile(fd, request.data, { ...request.options, progress })
    const mode = request.options.mode ?? (existing === undefined ? DEFAULT_MODE : undefined)
    if (mode !== undefined) fchmodSync(fd, mode)
    return true
  } catch (error) {
    // A part must not stay; but what others appended meanwhile is not ours to cut off.
    if (Number(fstatSync(fd).size) === before + progress.bytes) ftruncateSync(fd, before)
    if (existing === undefined && entry !== undefined) unlinkSync(entry.directory.child(entry.name))
    throw error
  } finally {
    closeSync(fd)
  }
}

function openForAppend({ existing, entry }: WriteTarget, path: string): number | undefined {
  if (existing !== undefined) return openContent(existing, path, constants.O_WRONLY | constants.O_APPEND)
  if (entry === undefined) return undefined
  const { directory, name } = entry
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
  try {
    return openSync(directory.child(name), flags, 0o600)
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return undefined
    throw error
  }
}
