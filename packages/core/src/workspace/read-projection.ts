import { createHash } from 'node:crypto'
import type { FileToWrite } from '../contracts/files.js'
import { SandboxError } from '../errors/sandbox-error.js'
import type { EntryPath, ProjectionEntry } from '../manifest/entry.js'
import { joinEntryPath } from '../manifest/list-entries.js'
import { parentPath } from '../path/relative-path.js'
import type { RelativePath } from '../path/relative-path.js'
import type { HostSources } from './host-source.js'
import { fileToWrite, readHostTree } from './read-host-tree.js'

/** Something of the host that a projection brings, with all that matters of it. */
export interface ProjectedItem {
  readonly type: 'file' | 'directory' | 'symlink'
  /** Workspace-relative. */
  readonly path: string
  /** Of type, mode, size and contents, framed so that no two differ in one and agree in all. */
  readonly digest: string
  readonly content: FileToWrite
  /** A directory that is only on the way to what is projected: it has to be there, and is nobody's otherwise. */
  readonly onTheWay: boolean
}

/** More than this is no set of instructions; a `local_dir` or a mount carries it without holding it in memory. */
const MAX_PROJECTION_BYTES = 64 * 1024 * 1024

/**
 * Everything that a projection brings now, parents first, and the directories above it that it needs. Roots that are not
 * there on the host bring nothing.
 */
export async function readProjection(
  path: EntryPath,
  entry: ProjectionEntry,
  options: {
    readonly host: HostSources
    readonly onSpecial: (path: string, type: string) => void
    readonly signal?: AbortSignal
  },
): Promise<readonly ProjectedItem[]> {
  const { host, signal } = options
  const source = host.locate(entry.source)
  const items = new Map<string, ProjectedItem>()
  let sizeBytes = 0
  const add = (place: string, file: FileToWrite): void => {
    if (file.type === 'hardlink') return
    sizeBytes += file.type === 'file' ? file.sizeBytes : 0
    if (sizeBytes > MAX_PROJECTION_BYTES) throw tooLarge(path)
    for (const parent of parentsOf(place)) if (!items.has(parent)) items.set(parent, makeItem(WAY, parent, true))
    items.set(place, makeItem(file, place, false))
  }
  for (const root of entry.roots) {
    const from = `${source}/${root}`
    const place = joinEntryPath(path, root)
    const stat = await host.files.stat(from)
    if (stat === undefined) continue
    if (stat.type === 'directory') {
      add(place, { type: 'directory', path: place, mode: stat.mode & 0o777 })
      const onSpecial = (below: string, type: string): void => options.onSpecial(`${place}/${below}`, type)
      const tree = readHostTree(host.files, from, { onSpecial, ...(signal === undefined ? {} : { signal }) })
      for await (const group of tree) for (const file of group) add(`${place}/${file.path}`, await whole(file))
    } else {
      // A root that is a link is what it leads to, as long as that is granted.
      for await (const read of host.files.readMany([from])) add(place, await whole(await fileToWrite(place, read)))
    }
  }
  return [...items.values()]
}

/** Of one item. Lengths come before what they measure; kinds and modes have places of their own. */
export function contentDigest(file: Exclude<FileToWrite, { type: 'hardlink' }>): string {
  const hash = createHash('sha256')
  if (file.type === 'symlink') return hash.update(frame('symlink', 0, file.linkTarget)).digest('hex')
  if (file.type === 'directory') return hash.update(frame('directory', file.mode, '')).digest('hex')
  const { content } = file
  if (!(content instanceof Uint8Array)) throw new TypeError('contentDigest needs the whole content')
  return hash.update(`file\n${file.mode}\n${content.length}\n`).update(content).digest('hex')
}

function frame(type: string, mode: number, text: string): string {
  return `${type}\n${mode}\n${Buffer.byteLength(text)}\n${text}`
}

async function whole(file: FileToWrite): Promise<FileToWrite> {
  if (file.type !== 'file' || file.content instanceof Uint8Array) return file
  if (file.sizeBytes > MAX_PROJECTION_BYTES) throw tooLarge(file.path)
  const chunks: Uint8Array[] = []
  for await (const chunk of file.content) chunks.push(chunk)
  const content = Buffer.concat(chunks)
  return { ...file, content, sizeBytes: content.length }
}

const WAY = { type: 'directory', path: '', mode: 0o755 } as const

function makeItem(file: Exclude<FileToWrite, { type: 'hardlink' }>, path: string, onTheWay: boolean): ProjectedItem {
  return { type: file.type, path, digest: contentDigest(file), content: { ...file, path }, onTheWay }
}

/** Outermost first. */
function parentsOf(path: string): readonly string[] {
  const parents: string[] = []
  for (let at = parentPath(path as RelativePath); at !== undefined; at = parentPath(at)) parents.unshift(at)
  return parents
}

function tooLarge(path: string): SandboxError {
  return new SandboxError(
    'quota_exceeded',
    `entries.${path}: the projection is larger than ${MAX_PROJECTION_BYTES} bytes; use local_dir or bind_mount.`,
    { quota: 'projection', limit: MAX_PROJECTION_BYTES },
  )
}
