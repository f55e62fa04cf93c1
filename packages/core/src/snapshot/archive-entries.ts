import { createHash, hash } from 'node:crypto'
import type { ArchiveEntry } from '../archive/archive-member.js'
import type { FileRead, FileStat, SandboxFiles } from '../contracts/files.js'
import type { RelativePath } from '../path/relative-path.js'
import { readWhole } from './read-whole.js'
import type { ScannedEntry, WorkspaceScan } from './scan-workspace.js'
import type { TreeDigest } from './tree-digest.js'
import { UnstableFile } from './unstable-file.js'

/** Files up to this size are read into memory before they are written, so that they can be read again. */
export const SPOOL_BYTES: number = 4 * 1024 ** 2
const READ_ATTEMPTS = 3

export interface EntryRequest {
  readonly files: SandboxFiles
  readonly workspace: string
  readonly scan: WorkspaceScan
  /** Permission bits that are saved. */
  readonly modeMask: number
  /** Gets every entry as it was written. */
  readonly digest: TreeDigest
  readonly onEntry: () => void
  readonly signal: AbortSignal | undefined
}

/**
 * The entries of the archive, with contents that did not change while they were read.
 *
 * A small file is read whole; when its stat differs afterwards, it is read again, three times at most. A large file is in
 * the archive already when the change shows, so that the whole take has to begin again: either way the end is
 * {@link UnstableFile}. A file that was removed since the scan is left out, as if it had been removed before.
 */
export async function* archiveEntries(request: EntryRequest): AsyncGenerator<ArchiveEntry, void, undefined> {
  const { scan } = request
  const reads = new OrderedReads(request)
  try {
    for (const entry of scan.entries) {
      if (entry.type === 'file') yield* fileEntry(request, entry, await reads.find(entry.path))
      else yield plainEntry(request, entry)
      request.onEntry()
    }
  } finally {
    await reads.close()
  }
}

function plainEntry({ digest, modeMask }: EntryRequest, { path, type, linkTarget, stat }: ScannedEntry): ArchiveEntry {
  const common = { path, type, mode: stat.mode & modeMask, mtimeNs: stat.mtimeNs, sizeBytes: 0 }
  const entry = linkTarget === undefined ? common : { ...common, linkTarget }
  digest.add(entry)
  return entry
}

async function* fileEntry(
  request: EntryRequest,
  entry: ScannedEntry,
  read: FileRead | undefined,
): AsyncGenerator<ArchiveEntry, void, undefined> {
  if (read !== undefined && read.stat.type === 'file' && read.stat.sizeBytes > SPOOL_BYTES) {
    yield* largeFile(request, entry, read)
    return
  }
  const spooled = await spool(request, entry.path, read)
  if (spooled === undefined) {
    // Its other names would point at nothing.
    if (entry.stat.links > 1) throw new UnstableFile(entry.path)
    return
  }
  const { stat, content } = spooled
  await checkIdentity(request, entry, stat)
  const { path } = entry
  const common = { path, type: 'file' as const, mode: stat.mode & request.modeMask, mtimeNs: stat.mtimeNs }
  request.digest.add({ ...common, sizeBytes: content.length, contentSha256: hash('sha256', content, 'hex') })
  yield { ...common, content }
}

async function* largeFile(
  request: EntryRequest,
  entry: ScannedEntry,
  read: FileRead,
): AsyncGenerator<ArchiveEntry, void, undefined> {
  const { stat } = read
  const { path } = entry
  await checkIdentity(request, entry, stat)
  const contentHash = createHash('sha256')
  const common = { path, type: 'file' as const, mode: stat.mode & request.modeMask, mtimeNs: stat.mtimeNs }
  const { sizeBytes } = stat
  yield { ...common, sizeBytes, content: hashedContent(read, contentHash) }
  if (!isSame(stat, await read.after())) throw new UnstableFile(path)
  request.digest.add({ ...common, sizeBytes, contentSha256: contentHash.digest('hex') })

  async function* hashedContent(file: FileRead, sum: typeof contentHash): AsyncGenerator<Uint8Array, void, undefined> {
    let left = sizeBytes
    for await (const chunk of file.content) {
      left -= chunk.length
      // The archive's own check would blame the archive.
      if (left < 0) throw new UnstableFile(path)
      sum.update(chunk)
      yield chunk
    }
    if (left > 0) throw new UnstableFile(path)
  }
}

interface Spooled {
  readonly stat: FileStat
  readonly content: Uint8Array
}

/** Undefined when the file is gone, or is no longer a file. */
async function spool(
  request: EntryRequest,
  path: RelativePath,
  first: FileRead | undefined,
): Promise<Spooled | undefined> {
  let result = first === undefined ? 'gone' : await readStable(first)
  for (let attempt = 1; result === 'changed' && attempt < READ_ATTEMPTS; attempt++)
    result = await readAgain(request, path)
  if (result === 'changed') throw new UnstableFile(path)
  return result === 'gone' ? undefined : result
}

async function readStable(read: FileRead): Promise<Spooled | 'changed' | 'gone'> {
  if (read.stat.type !== 'file') {
    await read.content.cancel()
    return 'gone'
  }
  const content = await readWhole(read.content, SPOOL_BYTES)
  if (content?.length !== read.stat.sizeBytes) return 'changed'
  return isSame(read.stat, await read.after()) ? { stat: read.stat, content } : 'changed'
}

async function readAgain(
  { files, workspace, signal }: EntryRequest,
  path: RelativePath,
): Promise<Spooled | 'changed' | 'gone'> {
  const options = signal === undefined ? {} : { signal }
  for await (const read of files.readMany([`${workspace}/${path}`], options)) return await readStable(read)
  return 'gone'
}

/**
 * Another file than the scan saw took its place: that is the same as a change, but when the other names of the one are links
 * to it, or when the path leads there through a link.
 */
async function checkIdentity(request: EntryRequest, { path, stat }: ScannedEntry, found: FileStat): Promise<void> {
  if (stat.inode === found.inode) return
  const now = await request.files.stat(`${request.workspace}/${path}`)
  if (stat.links > 1 || found.links > 1 || now?.type !== 'file' || now.inode !== found.inode)
    throw new UnstableFile(path)
}

function isSame(before: FileStat, after: FileStat): boolean {
  return (
    before.sizeBytes === after.sizeBytes &&
    before.mtimeNs === after.mtimeNs &&
    before.ctimeNs === after.ctimeNs &&
    before.inode === after.inode
  )
}

/** Reads all files in one stream, which leaves out those that are gone. */
class OrderedReads {
  readonly #workspace: string
  readonly #reads: AsyncIterator<FileRead>
  #next: FileRead | undefined
  #ended = false

  constructor({ files, workspace, scan, signal }: EntryRequest) {
    this.#workspace = workspace
    const paths = scan.entries.filter(({ type }) => type === 'file').map(({ path }) => `${workspace}/${path}`)
    this.#reads = files.readMany(paths, signal === undefined ? {} : { signal })[Symbol.asyncIterator]()
  }

  /** To be asked for every file in turn. */
  async find(path: RelativePath): Promise<FileRead | undefined> {
    if (this.#next === undefined && !this.#ended) {
      const { done, value } = await this.#reads.next()
      if (done === true) this.#ended = true
      else this.#next = value
    }
    if (this.#next?.path !== `${this.#workspace}/${path}`) return undefined
    const found = this.#next
    this.#next = undefined
    return found
  }

  async close(): Promise<void> {
    await this.#next?.content.cancel()
    await this.#reads.return?.()
  }
}
