import type { FileStat, FileToWrite } from '../contracts/files.js'
import type { SandboxEventBody } from '../contracts/observer.js'
import { assertNotAborted } from '../errors/assert-not-aborted.js'
import { isSandboxError } from '../errors/sandbox-error.js'
import { findEntry, listEntries } from '../manifest/list-entries.js'
import type { Manifest } from '../manifest/manifest.js'
import { mountPaths } from '../manifest/manifest-paths.js'
import type { HostAccess } from './host-access.js'
import { openHostSources } from './host-source.js'
import {
  makeIndex,
  readProjectionIndex,
  sameIndex,
  unionIndex,
  writeProjectionIndex,
  type ProjectionIndex,
} from './projection-index.js'
import { contentDigest, readProjection } from './read-projection.js'
import type { ProjectedItem } from './read-projection.js'
import type { WorkspaceSandbox } from './filling.js'

export interface ApplyProjectionsRequest {
  readonly sandbox: WorkspaceSandbox
  readonly manifest: Manifest
  readonly hostAccess: HostAccess
  readonly emit: (event: SandboxEventBody) => void
  readonly signal?: AbortSignal
}

/**
 * Brings every projection of the manifest up to date, one way, from the host into the workspace. What is really there is
 * compared, not what was written the last time: a file that an agent changed is restored. What an earlier call brought and
 * the host no longer has is removed; what others put beside it stays.
 *
 * A directory between the workspace's root and a projection keeps its mode. Emits one `projection.applied` when
 * anything is projected, or was.
 *
 * @throws `path_escape` for a source that is not granted or a link that leads out of it, `quota_exceeded`, `no_space`
 */
export async function applyProjections(request: ApplyProjectionsRequest): Promise<ProjectionIndex> {
  const { sandbox, manifest, emit, signal } = request
  const place = `${sandbox.paths.control}/projections.json`
  const previous = await readProjectionIndex(sandbox.files, place)
  const items = await readAll(request)
  if (items.length === 0 && previous.files.length + previous.directories.length === 0) return previous
  const index = makeIndex(
    items.filter(({ type }) => type !== 'directory').map(({ path }) => path),
    items.filter(({ type, onTheWay }) => type === 'directory' && !onTheWay).map(({ path }) => path),
  )
  // Before anything is written, so that a death in between leaves nothing that nobody knows of.
  const union = unionIndex(previous, index)
  if (!sameIndex(previous, union)) await writeProjectionIndex(sandbox.files, place, union)
  const removed = await removeOld(previous, index, { sandbox, manifest })
  const differing = await findDiffering(items, sandbox, signal)
  await sandbox.files.writeMany(
    differing.map(({ content }) => content),
    sandbox.paths.workspace,
    signal === undefined ? {} : { signal },
  )
  if (!sameIndex(union, index)) await writeProjectionIndex(sandbox.files, place, index)
  const written = differing.filter(({ type }) => type !== 'directory').length
  emit({ type: 'projection.applied', written, removed, unchanged: index.files.length - written })
  return index
}

async function readAll(request: ApplyProjectionsRequest): Promise<readonly ProjectedItem[]> {
  const { manifest, hostAccess, emit, signal } = request
  const projections = listEntries(manifest).filter(({ entry }) => entry.kind === 'projection')
  if (projections.length === 0) return []
  const host = await openHostSources(hostAccess)
  const items = new Map<string, ProjectedItem>()
  for (const { path, entry } of projections) {
    if (entry.kind !== 'projection') continue
    const found = await readProjection(path, entry, {
      host,
      onSpecial: (place, type) =>
        emit({
          type: 'entry.skipped',
          path: place,
          kind: 'projection',
          reason: `a ${type} of the host cannot be copied`,
        }),
      ...(signal === undefined ? {} : { signal }),
    })
    for (const item of found) if (items.get(item.path)?.onTheWay !== false) items.set(item.path, item)
  }
  return [...items.values()]
}

/** Those that are not there, or not like this. What is of another kind is removed; links are never followed. */
async function findDiffering(
  items: readonly ProjectedItem[],
  sandbox: WorkspaceSandbox,
  signal: AbortSignal | undefined,
): Promise<readonly ProjectedItem[]> {
  const { files, paths } = sandbox
  const differing: ProjectedItem[] = []
  const missing = new Set<string>()
  for (const item of items) {
    assertNotAborted(signal, 'projection')
    const parent = item.path.slice(0, Math.max(0, item.path.lastIndexOf('/')))
    const place = `${paths.workspace}/${item.path}`
    const stat = missing.has(parent) ? undefined : await files.stat(place)
    const sameKind = stat?.type === item.type
    if (stat !== undefined && !sameKind) await files.remove(place, { recursive: true })
    if (!sameKind && item.type === 'directory') missing.add(item.path)
    if (!sameKind || !(await isSame(item, { sandbox, stat, place }))) differing.push(item)
  }
  return differing
}

async function isSame(
  item: ProjectedItem,
  { sandbox, stat, place }: { readonly sandbox: WorkspaceSandbox; readonly stat: FileStat; readonly place: string },
): Promise<boolean> {
  const { content } = item
  if (content.type === 'directory') return item.onTheWay || stat.mode === content.mode
  if (content.type === 'symlink') return (await sandbox.files.readlink(place)) === content.linkTarget
  if (content.type !== 'file' || stat.sizeBytes !== content.sizeBytes || stat.mode !== content.mode) return false
  const chunks: Uint8Array[] = []
  for await (const chunk of await sandbox.files.read(place, { length: content.sizeBytes })) chunks.push(chunk)
  const there: FileToWrite = { ...content, content: Buffer.concat(chunks) }
  return contentDigest(there) === item.digest
}

/** Removes what was brought once and is no longer; a directory only when nothing else is in it. */
async function removeOld(
  previous: ProjectionIndex,
  index: ProjectionIndex,
  { sandbox, manifest }: { readonly sandbox: WorkspaceSandbox; readonly manifest: Manifest },
): Promise<number> {
  const current = new Set([...index.files, ...index.directories])
  const mounts = mountPaths(manifest)
  const isOurs = (path: string): boolean =>
    !current.has(path) &&
    findEntry(manifest, path) === undefined &&
    !mounts.some((mount) => path === mount || path.startsWith(`${mount}/`))
  let removed = 0
  for (const path of previous.files.filter(isOurs)) {
    if (await removeQuietly(path, sandbox, ['file', 'symlink'])) removed++
  }
  for (const path of previous.directories.filter(isOurs).reverse()) await removeQuietly(path, sandbox, ['directory'])
  return removed
}

/** The index is not to be trusted, and the workspace has been worked in: what is no longer like that is let be. */
async function removeQuietly(path: string, sandbox: WorkspaceSandbox, types: readonly string[]): Promise<boolean> {
  if (!(await hasRealParents(path, sandbox))) return false
  const place = `${sandbox.paths.workspace}/${path}`
  const stat = await sandbox.files.stat(place)
  if (stat === undefined || !types.includes(stat.type)) return false
  try {
    await sandbox.files.remove(place)
    return true
  } catch (error) {
    if (isSandboxError(error, 'already_exists') || isSandboxError(error, 'not_found')) return false
    throw error
  }
}

async function hasRealParents(path: string, { files, paths }: WorkspaceSandbox): Promise<boolean> {
  for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1)) {
    if ((await files.stat(`${paths.workspace}/${path.slice(0, slash)}`))?.type !== 'directory') return false
  }
  return true
}
