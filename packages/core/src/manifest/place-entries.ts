import { parentPath } from '../path/relative-path.js'
import type { RelativePath } from '../path/relative-path.js'
import { isContentEntry } from './entry.js'
import type { Entry, EntryPath } from './entry.js'
import { ENTRY_KINDS } from './entries/entry-kinds.js'
import { compareEntryPaths, joinEntryPath } from './list-entries.js'
import { tryRelativePath } from './member-schemas.js'
import type { Problems } from './problems.js'

const MAX_ENTRIES = 10_000
/** Kinds that may fill the workspace's root itself. */
const ROOT_KINDS: readonly string[] = ['local_dir', 'git_repo', 'projection']
/** Kinds that other entries may lie in. A projection is one beside the paths that it brings. */
const CONTAINERS: readonly string[] = ['dir', 'local_dir', 'git_repo', 'projection']

/** An entry on its way from what was written to where it lies. */
interface Placing {
  readonly path: EntryPath
  readonly entry: Entry
  /** How the user spelt the path, for messages. */
  readonly written: string
  /** Whether `ephemeral: false` was written, not assumed. */
  readonly lasting: boolean
}

/**
 * Reads nested entries into flat ones, and checks what no single entry can know: one entry per path, nothing beneath what
 * holds nothing, links that stay inside, ephemeral all the way down.
 */
export function placeEntries(input: unknown, root: string, problems: Problems): ReadonlyMap<EntryPath, Entry> {
  const placed: Placing[] = []
  collect(input, { base: '.', written: '', problems, placed })
  placed.sort((a, b) => compareEntryPaths(a.path, b.path))
  const entries = new Map<EntryPath, Placing>()
  for (const placing of placed) {
    const other = entries.get(placing.path)
    if (other === undefined) entries.set(placing.path, placing)
    else problems.add(placeOf(placing), `is there twice, written '${other.written}' and '${placing.written}'`)
  }
  checkNesting(entries, problems)
  checkProjections(entries, problems)
  checkMounts(entries, problems)
  return finish(entries, root, problems)
}

interface Collecting {
  readonly base: EntryPath
  readonly written: string
  readonly problems: Problems
  readonly placed: Placing[]
}

function collect(input: unknown, into: Collecting): void {
  const at = into.base === '.' ? 'entries' : `entries.${into.base}.children`
  if (!isRecord(input)) return into.problems.add(at, 'must be an object of paths and entries')
  for (const [key, raw] of Object.entries(input)) {
    if (raw === undefined) continue
    if (into.placed.length >= MAX_ENTRIES) return into.problems.add(at, `are more than ${MAX_ENTRIES} entries`)
    collectOne(key, raw, into)
  }
}

function collectOne(key: string, raw: unknown, into: Collecting): void {
  const { base, problems, placed } = into
  const written = joinWritten(into.written, key)
  const path = placePath(key, base, problems)
  if (path === undefined) return
  const place = `entries.${path}`
  if (!isRecord(raw)) return problems.add(place, "must be an object with a 'kind'")
  const { children, ...members } = withoutUndefined(raw)
  const kind = members.kind
  if (typeof kind !== 'string' || !Object.hasOwn(ENTRY_KINDS, kind)) {
    return problems.add(`${place}.kind`, kindProblem(members))
  }
  const { schema, members: known } = ENTRY_KINDS[kind as Entry['kind']]
  if (children !== undefined && kind !== 'dir') problems.add(`${place}.children`, `is for kind 'dir', not '${kind}'`)
  const entry = problems.check<Entry>(schema, members, { place, members: known })
  if (entry !== undefined) {
    placed.push({ path, entry, written, lasting: members.ephemeral === false })
    if (path === '.' && !ROOT_KINDS.includes(kind)) problems.add(place, `can only be ${ROOT_KINDS.join(', ')}`)
  }
  if (children !== undefined && kind === 'dir') collect(children, { ...into, base: path, written })
}

function placePath(key: string, base: EntryPath, problems: Problems): EntryPath | undefined {
  if (base === '.' && /^\.\/*$/.test(key)) return '.'
  const parsed = tryRelativePath(key)
  const whole = 'path' in parsed ? tryRelativePath(joinEntryPath(base, parsed.path)) : parsed
  if ('path' in whole) return whole.path
  problems.add(`entries.${base === '.' ? '' : `${base}.children.`}${key}`, whole.problem)
  return undefined
}

function kindProblem(members: Readonly<Record<string, unknown>>): string {
  const kinds = Object.keys(ENTRY_KINDS).join(', ')
  if (members.kind === undefined) {
    return `is missing; it is one of ${kinds}${members.type === undefined ? '' : " (and is called 'kind', not 'type')"}`
  }
  return `must be one of ${kinds}`
}

function checkNesting(entries: ReadonlyMap<EntryPath, Placing>, problems: Problems): void {
  for (const placing of entries.values()) {
    for (const above of ancestors(placing.path)) {
      const holder = entries.get(above)
      if (holder === undefined || CONTAINERS.includes(holder.entry.kind)) continue
      problems.add(placeOf(placing), `lies beneath '${above}', which is a ${holder.entry.kind} and can hold no entries`)
      break
    }
  }
}

/** What a projection brings is its own: it would overwrite an entry there, and remove it later. */
function checkProjections(entries: ReadonlyMap<EntryPath, Placing>, problems: Problems): void {
  const claims = new Map<string, Placing>()
  for (const { claimed, placing } of claimedPaths(entries)) {
    const other = [claimed, ...ancestors(claimed)].map((path) => claims.get(path)).find(Boolean)
    if (other !== undefined) problems.add(placeOf(placing), `brings '${claimed}', which '${other.path}' brings as well`)
    claims.set(claimed, placing)
    const blocked = ancestors(claimed).find((path) => holdsNothing(entries.get(path)))
    if (blocked !== undefined) problems.add(placeOf(placing), `brings '${claimed}', which lies beneath '${blocked}'`)
  }
  for (const placing of entries.values()) {
    const claimed = [placing.path, ...ancestors(placing.path)].find((path) => claims.has(path))
    if (claimed === undefined) continue
    const projection = claims.get(claimed)!.path
    problems.add(placeOf(placing), `lies where the projection '${projection}' brings '${claimed}'`)
  }
}

/** In order, so that what holds another comes before it. */
function claimedPaths(
  entries: ReadonlyMap<EntryPath, Placing>,
): { readonly claimed: EntryPath; readonly placing: Placing }[] {
  return [...entries.values()]
    .flatMap((placing) => {
      const roots = placing.entry.kind === 'projection' ? placing.entry.roots : []
      return roots.map((root) => ({ claimed: joinEntryPath(placing.path, root) as EntryPath, placing }))
    })
    .sort((a, b) => compareEntryPaths(a.claimed, b.claimed))
}

/** What replaces, removes or gives away a directory must never do so to a mount in it. */
function checkMounts(entries: ReadonlyMap<EntryPath, Placing>, problems: Problems): void {
  for (const { path: mount, entry } of entries.values()) {
    if (entry.kind !== 'bind_mount') continue
    for (const path of ancestors(mount)) {
      const above = entries.get(path)
      if (above === undefined || !isContentEntry(above.entry)) continue
      const { ephemeral, onRestore, owner, group, kind } = above.entry
      if (ephemeral) problems.add(`entries.${mount}`, `is a mount beneath '${path}', which is ephemeral`)
      if (onRestore === 'overwrite' && kind !== 'dir') {
        problems.add(`entries.${mount}`, `is a mount beneath '${path}', which a start may overwrite`)
      }
      if ((owner ?? group) !== undefined && kind !== 'dir') {
        problems.add(`entries.${mount}`, `is a mount beneath '${path}', all of which is given to an owner`)
      }
    }
  }
}

function holdsNothing(holder: Placing | undefined): boolean {
  return holder !== undefined && !CONTAINERS.includes(holder.entry.kind)
}

function finish(
  placings: ReadonlyMap<EntryPath, Placing>,
  root: string,
  problems: Problems,
): ReadonlyMap<EntryPath, Entry> {
  const entries = new Map<EntryPath, Entry>()
  for (const placing of placings.values()) {
    const { path, entry } = placing
    const above = ancestors(path).find((ancestor) => isEphemeral(entries.get(ancestor)))
    if (above !== undefined && placing.lasting) {
      problems.add(`${placeOf(placing)}.ephemeral`, `cannot be false: it lies beneath '${above}', which is ephemeral`)
    }
    const settled =
      entry.kind === 'symlink' ? { ...entry, target: insideTarget(entry.target, placing, { root, problems }) } : entry
    entries.set(path, above !== undefined && isContentEntry(settled) ? { ...settled, ephemeral: true } : settled)
    if (path === '.') checkRoot(entry, problems)
  }
  return entries
}

function checkRoot(entry: Entry, problems: Problems): void {
  if (!isContentEntry(entry)) return
  if (entry.ephemeral)
    problems.add('entries...ephemeral', 'cannot be true for the whole workspace: nothing would be saved')
  if (entry.onRestore === 'overwrite') {
    problems.add('entries...onRestore', "cannot be 'overwrite': nothing of a snapshot would remain")
  }
}

function isEphemeral(entry: Entry | undefined): boolean {
  return entry !== undefined && isContentEntry(entry) && entry.ephemeral
}

/** The target relative to the link, which is the same in every sandbox, wherever its workspace lies. */
function insideTarget(
  target: string,
  placing: Placing,
  { root, problems }: { readonly root: string; readonly problems: Problems },
): string {
  const depth = ancestors(placing.path).filter((path) => path !== '.').length
  const absolute = target.startsWith('/')
  const parts = target.split('/').filter((part) => part !== '' && part !== '.')
  const rootParts = root.split('/').filter((part) => part !== '')
  const beneathRoot = absolute && !parts.includes('..') && rootParts.every((part, i) => part === parts[i])
  if (absolute && beneathRoot) {
    return [...Array.from({ length: depth }, () => '..'), ...parts.slice(rootParts.length)].join('/') || '.'
  }
  let level = depth
  const stays = !absolute && parts.every((part) => (level += part === '..' ? -1 : 1) >= 0)
  if (!stays) problems.add(`${placeOf(placing)}.target`, 'leads out of the workspace')
  return target
}

/** Innermost first, `.` last. */
function ancestors(path: string): readonly EntryPath[] {
  if (path === '.') return []
  const above: EntryPath[] = []
  for (let at = parentPath(path as RelativePath); at !== undefined; at = parentPath(at)) above.push(at)
  return [...above, '.']
}

function placeOf({ path }: Placing): string {
  return `entries.${path}`
}

function joinWritten(base: string, key: string): string {
  return base === '' ? key : `${base}/${key}`
}

/** Whether a value is an object as JSON or a literal makes it. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null
}

/** A member that is undefined is not there: `{ ref: options.ref }` means what it says. */
export function withoutUndefined(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined))
}
