import type { FileRead, FileToWrite, FileType, SandboxFiles, TreeEntry } from '../contracts/files.js'
import { SandboxError } from '../errors/sandbox-error.js'

/** Files up to this size travel as one piece; a stream for each of thousands would cost more than the files. */
const WHOLE_FILE_BYTES = 1024 * 1024
/** Entries that are known before their contents are asked for. */
const GROUP_ENTRIES = 512
/** Contents that are held at once. */
const GROUP_BYTES = 4 * 1024 * 1024

export interface HostTreeOptions {
  /** Entries that are left out, with all beneath. */
  readonly exclude?: (path: string, type: FileType) => boolean
  /** Told of what is neither file, directory nor link. */
  readonly onSpecial: (path: string, type: FileType) => void
  readonly signal?: AbortSignal
}

/**
 * Everything beneath a host directory, parents first, ready to be written elsewhere; paths are relative to it. Set-id and
 * sticky bits are dropped. Links are links; one that leads out of the directory is `path_escape`.
 *
 * It comes in groups: a promise for each of thousands of small files is what copying them would mostly be made of. A file
 * that comes as a stream is the last of its group, and must be drained before the next group is asked for.
 */
export async function* readHostTree(
  files: SandboxFiles,
  directory: string,
  options: HostTreeOptions,
): AsyncGenerator<readonly FileToWrite[]> {
  const { exclude, onSpecial, signal } = options
  const common = signal === undefined ? {} : { signal }
  let group: TreeEntry[] = []
  for await (const entry of files.tree(directory, { ...common, ...(exclude === undefined ? {} : { exclude }) })) {
    if (entry.type === 'fifo' || entry.type === 'socket' || entry.type === 'device') {
      onSpecial(entry.path, entry.type)
      continue
    }
    if (entry.type === 'symlink') assertInside(entry, directory)
    if (group.push(entry) < GROUP_ENTRIES) continue
    yield* readGroup(files, directory, group, signal)
    group = []
  }
  yield* readGroup(files, directory, group, signal)
}

async function* readGroup(
  files: SandboxFiles,
  directory: string,
  group: readonly TreeEntry[],
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly FileToWrite[]> {
  let ready: FileToWrite[] = []
  let readyBytes = 0
  let next = 0
  const readyUpTo = (path: string | undefined): void => {
    for (; next < group.length && group[next]!.path !== path; next++) {
      // A file that is passed over went away between being listed and being read.
      const { path: place, type, mode, linkTarget } = group[next]!
      if (type === 'directory') ready.push({ type, path: place, mode: mode & 0o777 })
      else if (type === 'symlink') ready.push({ type, path: place, linkTarget: linkTarget ?? '' })
    }
  }
  const wanted = group.filter(({ type }) => type === 'file').map(({ path }) => `${directory}/${path}`)
  for await (const read of files.readMany(wanted, signal === undefined ? {} : { signal })) {
    const path = read.path.slice(directory.length + 1)
    readyUpTo(path)
    next++
    const whole = toWrite(path, read) ?? (await fileToWrite(path, read))
    ready.push(whole)
    readyBytes += whole.sizeBytes
    if (whole.content instanceof Uint8Array && readyBytes < GROUP_BYTES) continue
    yield ready
    ready = []
    readyBytes = 0
  }
  readyUpTo(undefined)
  if (ready.length > 0) yield ready
}

type WholeFile = Extract<FileToWrite, { type: 'file' }>

/** `undefined` when the contents have to be waited for. */
function toWrite(path: string, { bytes, stat }: FileRead, mode?: number): WholeFile | undefined {
  if (bytes === null) return undefined
  const { mtimeNs } = stat
  return { type: 'file', path, mode: mode ?? stat.mode & 0o777, sizeBytes: bytes.length, mtimeNs, content: bytes }
}

/** What was read, ready to be written at `path`, with the mode of the source unless another is given. */
export async function fileToWrite(path: string, read: FileRead, mode?: number): Promise<WholeFile> {
  const atHand = toWrite(path, read, mode)
  if (atHand !== undefined) return atHand
  const { stat } = read
  const whole = stat.sizeBytes <= WHOLE_FILE_BYTES
  const content = whole ? await readWhole(read.content) : read.content
  const sizeBytes = content instanceof Uint8Array ? content.length : stat.sizeBytes
  return { type: 'file', path, mode: mode ?? stat.mode & 0o777, sizeBytes, mtimeNs: stat.mtimeNs, content }
}

async function readWhole(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const reader = stream.getReader()
  const chunks: Uint8Array[] = []
  for (let next = await reader.read(); !next.done; next = await reader.read()) chunks.push(next.value)
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
}

function assertInside({ path, linkTarget }: TreeEntry, directory: string): void {
  const target = linkTarget ?? ''
  let level = path.split('/').length - 1
  const steps = target.split('/').filter((step) => step !== '' && step !== '.')
  const stays = !target.startsWith('/') && steps.every((step) => (level += step === '..' ? -1 : 1) >= 0)
  if (stays) return
  const place = `${directory}/${path}`
  throw new SandboxError(
    'path_escape',
    `The link ${place} leads out of ${directory}; exclude it, or replace it by what it points to.`,
    { path: place },
  )
}
