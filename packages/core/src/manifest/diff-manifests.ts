import type { JsonValue } from '../errors/error-details.js'
import { isContentEntry } from './entry.js'
import type { EntryPath } from './entry.js'
import { listEntries } from './list-entries.js'
import { entryToJson } from './manifest-json.js'
import type { Manifest } from './manifest.js'

/** Names that are only in the second, only in the first, or in both but not the same. In order. */
export interface Difference<T extends string = string> {
  readonly added: readonly T[]
  readonly removed: readonly T[]
  readonly changed: readonly T[]
}

export interface ManifestDiff {
  readonly equal: boolean
  readonly rootChanged: boolean
  /** Everything but mounts and projections: in force for a fresh workspace, or at the next start when ephemeral. */
  readonly entries: Difference<EntryPath>
  /** In force at the next start. */
  readonly projections: Difference<EntryPath>
  /** A changed mount needs another sandbox. */
  readonly mounts: Difference<EntryPath>
  /** By name; values are never told. */
  readonly environment: Difference
  readonly users: Difference
  readonly groups: Difference
}

/** How two manifests differ. What says the same in another way (a default written out, nested or flat) is no difference. */
export function diffManifests(from: Manifest, to: Manifest): ManifestDiff {
  const parts = {
    rootChanged: from.root !== to.root,
    entries: diffEntries(from, to, (kind) => kind === 'content'),
    projections: diffEntries(from, to, (kind) => kind === 'projection'),
    mounts: diffEntries(from, to, (kind) => kind === 'bind_mount'),
    environment: difference(Object.entries(from.environment), Object.entries(to.environment)),
    users: difference(byName(from.users), byName(to.users)),
    groups: difference(byName(from.groups), byName(to.groups)),
  }
  const { rootChanged, ...differences } = parts
  const none = ({ added, removed, changed }: Difference): boolean =>
    added.length + removed.length + changed.length === 0
  return { equal: !rootChanged && Object.values(differences).every(none), ...parts }
}

type Part = 'content' | 'projection' | 'bind_mount'

function diffEntries(from: Manifest, to: Manifest, belongs: (part: Part) => boolean): Difference<EntryPath> {
  const pick = (manifest: Manifest): [EntryPath, JsonValue][] =>
    listEntries(manifest)
      .filter(({ entry }) => belongs(isContentEntry(entry) ? 'content' : entry.kind))
      .map(({ path, entry }) => [path, entryToJson(entry)])
  return difference(pick(from), pick(to))
}

function byName(accounts: readonly { readonly name: string }[]): [string, unknown][] {
  return accounts.map((account) => [account.name, account])
}

function difference<T extends string>(
  from: readonly (readonly [T, unknown])[],
  to: readonly (readonly [T, unknown])[],
): Difference<T> {
  const before = new Map(from.map(([name, value]) => [name, canonical(value)]))
  const after = new Map(to.map(([name, value]) => [name, canonical(value)]))
  return {
    added: [...after.keys()].filter((name) => !before.has(name)),
    removed: [...before.keys()].filter((name) => !after.has(name)),
    changed: [...after.keys()].filter((name) => before.has(name) && before.get(name) !== after.get(name)),
  }
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )
}
