import { comparePaths } from '../path/path-bytes.js'
import type { Entry, EntryPath } from './entry.js'
import type { Manifest, PlacedEntry } from './manifest.js'

/** All entries, parents before what lies in them, siblings in byte order of their names. `.` comes first. */
export function listEntries(manifest: Manifest): readonly PlacedEntry[] {
  return Object.entries(manifest.entries)
    .map(([path, entry]) => ({ path: path as EntryPath, entry }))
    .sort((a, b) => compareEntryPaths(a.path, b.path))
}

/** The entry at exactly this path. */
export function findEntry(manifest: Manifest, path: string): Entry | undefined {
  return Object.hasOwn(manifest.entries, path) ? manifest.entries[path] : undefined
}

export function compareEntryPaths(a: EntryPath, b: EntryPath): number {
  if (a === '.' || b === '.') return a === b ? 0 : a === '.' ? -1 : 1
  return comparePaths(a, b)
}

/** The path of `name` beneath an entry. */
export function joinEntryPath(path: EntryPath, name: string): string {
  return path === '.' ? name : `${path}/${name}`
}
