import type { BackendFeatures } from '../contracts/features.js'
import { isContentEntry } from '../manifest/entry.js'
import type { ContentEntry, Entry, EntryPath } from '../manifest/entry.js'
import { listEntries } from '../manifest/list-entries.js'
import type { Manifest } from '../manifest/manifest.js'

/**
 * Which entries. `all`: an empty workspace is filled. `ephemeral`: what is made anew at every start. `missing`: the
 * workspace was seeded from a snapshot; what the snapshot has stays, unless the entry says `onRestore: 'overwrite'`.
 */
export type MaterializeSelect = 'all' | 'ephemeral' | 'missing'

/**
 * What to do where something is already: leave it; move it out of the way and make the entry anew; or, for directories,
 * add to what is there.
 */
export type WhenPresent = 'keep' | 'replace' | 'merge'

/** One entry to be made. */
export interface MaterializeStep {
  readonly path: EntryPath
  readonly entry: ContentEntry
  readonly whenPresent: WhenPresent
  /** Entries that this one lies in and that bring contents of their own, innermost first. */
  readonly within: readonly EntryPath[]
}

/** An entry that this sandbox cannot have. */
export interface UnsupportedEntry {
  readonly path: string
  readonly kind: string
  readonly feature: string
  readonly reason: string
  readonly ifUnsupported: 'error' | 'skip'
}

export interface MaterializePlan {
  /** Parents before what lies in them, siblings in byte order: the same manifest always in the same order. */
  readonly steps: readonly MaterializeStep[]
  readonly unsupported: readonly UnsupportedEntry[]
}

/** Pure: decides everything that can be decided without looking at the workspace. */
export function planMaterialization(
  manifest: Manifest,
  select: MaterializeSelect,
  features: BackendFeatures,
): MaterializePlan {
  const placed = listEntries(manifest)
  const bringing = new Set(placed.filter(({ entry }) => bringsContents(entry)).map(({ path }) => path))
  const unsupported = placed.flatMap(({ path, entry }) => unsupportedEntry(path, entry, features))
  const skipped = new Set(unsupported.map(({ path }) => path))
  const steps = placed.flatMap(({ path, entry }): MaterializeStep[] => {
    if (!isContentEntry(entry) || skipped.has(path)) return []
    if (select === 'ephemeral' && !entry.ephemeral) return []
    return [{ path, entry, whenPresent: whenPresent(entry, select), within: ancestorsIn(path, bringing) }]
  })
  return { steps, unsupported: [...unsupportedAccounts(manifest, features), ...unsupported] }
}

/** What holds for an entry in something that was itself made just now. */
export function whenFresh(entry: ContentEntry): WhenPresent {
  return bringsContents(entry) || entry.kind === 'dir' ? 'merge' : 'replace'
}

function whenPresent(entry: ContentEntry, select: MaterializeSelect): WhenPresent {
  if (entry.ephemeral && select !== 'all') return 'replace'
  if (select === 'all') return whenFresh(entry)
  if (entry.onRestore === 'keep') return 'keep'
  return entry.kind === 'dir' ? 'merge' : 'replace'
}

function bringsContents(entry: Entry): boolean {
  return entry.kind === 'local_dir' || entry.kind === 'git_repo'
}

function ancestorsIn(path: EntryPath, wanted: ReadonlySet<EntryPath>): readonly EntryPath[] {
  const found: EntryPath[] = []
  for (let end = path.lastIndexOf('/'); end !== -1; end = path.lastIndexOf('/', end - 1)) {
    const above = path.slice(0, end) as EntryPath
    if (wanted.has(above)) found.push(above)
  }
  if (path !== '.' && wanted.has('.')) found.push('.')
  return found
}

function unsupportedEntry(path: string, entry: Entry, features: BackendFeatures): UnsupportedEntry[] {
  const { kind, ifUnsupported } = entry
  const lacks = (feature: string, reason: string): UnsupportedEntry[] => [
    { path, kind, feature, reason, ifUnsupported },
  ]
  if (kind === 'bind_mount' && !features.bindMounts) {
    return lacks('bindMounts', 'this backend mounts no directories of the host; use local_dir or projection')
  }
  if (isContentEntry(entry) && (entry.owner ?? entry.group) !== undefined && !features.users) {
    return lacks('users', 'this backend has no users or groups; leave out owner and group')
  }
  if (!features.byteNames && /\p{Surrogate}/u.test(path)) {
    return lacks('byteNames', 'names on this backend must be UTF-8')
  }
  return []
}

function unsupportedAccounts(manifest: Manifest, features: BackendFeatures): UnsupportedEntry[] {
  if (features.users) return []
  const reason = 'this backend has no users or groups'
  const lack = (kind: string, { name, ifUnsupported }: Manifest['users'][number]): UnsupportedEntry => ({
    path: name,
    kind,
    feature: 'users',
    reason,
    ifUnsupported,
  })
  return [...manifest.users.map((user) => lack('user', user)), ...manifest.groups.map((group) => lack('group', group))]
}
