import type { Stats } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { BlobSummary } from '../../contracts/blob-store.js'
import { throwIfAborted } from '../check-argument.js'
import { errnoOf } from '../map-file-error.js'
import { parseBlobPathEntry } from './blob-path.js'
import type { BlobPathEntry } from './blob-path.js'

export interface ListBlobFolder {
  readonly folder: string
  /** The part of the key that the folder stands for. */
  readonly base: string
  readonly prefix: string
  readonly signal: AbortSignal | undefined
}

/** The blobs beneath a folder in order of their keys' bytes, one folder's names in memory per level. */
export async function* listBlobFolder(request: ListBlobFolder): AsyncGenerator<BlobSummary, void> {
  const entries = await readEntries(request)
  for (let index = 0; index < entries.length; index++) {
    throwIfAborted(request.signal)
    const entry = entries[index] as BlobPathEntry
    const following = entries[index + 1]
    if (entry.kind === 'blob') {
      const stat = await statBlob(join(request.folder, entry.name))
      if (stat !== undefined) yield { key: request.base + entry.text, sizeBytes: stat.size, modifiedAtMs: stat.mtimeMs }
    } else if (entry.kind === 'piece' && following?.kind === 'component' && following.text === `${entry.text}/`) {
      // The only two folders whose keys mix: `xxx/…` falls among `xxx-…` and `xxxa…`.
      index++
      yield* merge(beneath(request, entry), beneath(request, following))
    } else yield* beneath(request, entry)
  }
}

function beneath(request: ListBlobFolder, entry: BlobPathEntry): AsyncGenerator<BlobSummary, void> {
  return listBlobFolder({ ...request, folder: join(request.folder, entry.name), base: request.base + entry.text })
}

/** Those that can hold keys with the prefix, ordered so that only a piece and the component of the same text mix. */
async function readEntries({ folder, base, prefix }: ListBlobFolder): Promise<BlobPathEntry[]> {
  const entries: BlobPathEntry[] = []
  for (const entry of await readFolder(folder)) {
    const parsed = parseBlobPathEntry(entry.name)
    if (parsed === undefined || entry.isFile() !== (parsed.kind === 'blob') || entry.isSymbolicLink()) continue
    if (parsed.kind !== 'blob' && !entry.isDirectory()) continue
    const key = base + parsed.text
    if (key.startsWith(prefix) || (parsed.kind !== 'blob' && prefix.startsWith(key))) entries.push(parsed)
  }
  return entries.sort((a, b) => (a.text === b.text ? (a.kind === 'blob' ? -1 : 1) : a.text < b.text ? -1 : 1))
}

async function readFolder(folder: string): Promise<Awaited<ReturnType<typeof readNames>>> {
  try {
    return await readNames(folder)
  } catch (error) {
    // The last blob in it was deleted meanwhile.
    if (errnoOf(error) === 'ENOENT') return []
    throw error
  }
}

const readNames = (folder: string) => readdir(folder, { withFileTypes: true })

/** undefined when there is none, or something that is no file. */
export async function statBlob(path: string): Promise<Stats | undefined> {
  try {
    const stat = await lstat(path)
    return stat.isFile() ? stat : undefined
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errnoOf(error) ?? '')) return undefined
    throw error
  }
}

async function* merge(
  left: AsyncGenerator<BlobSummary, void>,
  right: AsyncGenerator<BlobSummary, void>,
): AsyncGenerator<BlobSummary, void> {
  try {
    let [a, b] = [await left.next(), await right.next()]
    while (a.done !== true || b.done !== true) {
      if (b.done === true || (a.done !== true && a.value.key < b.value.key)) {
        yield a.value as BlobSummary
        a = await left.next()
      } else {
        yield b.value
        b = await right.next()
      }
    }
  } finally {
    await Promise.all([left.return(), right.return()])
  }
}
