import { comparePaths } from '../path/path-bytes.js'
import { isContentEntry } from './entry.js'
import type { EntryPath } from './entry.js'
import { joinEntryPath, listEntries } from './list-entries.js'
import type { Manifest } from './manifest.js'

/** Paths of what is made anew at every start, also where only a parent is declared so. In order. */
export function ephemeralPaths(manifest: Manifest): readonly EntryPath[] {
  return listEntries(manifest)
    .filter(({ entry }) => isContentEntry(entry) && entry.ephemeral)
    .map(({ path }) => path)
}

/**
 * Workspace-relative paths that no snapshot may hold, each with all beneath: ephemeral entries, what projections bring,
 * and mounts. In order, and none beneath another.
 */
export function snapshotExcludes(manifest: Manifest): readonly string[] {
  const paths = listEntries(manifest).flatMap(({ path, entry }) => {
    if (entry.kind === 'projection') return entry.roots.map((root) => joinEntryPath(path, root))
    return entry.kind === 'bind_mount' || entry.ephemeral ? [path] : []
  })
  const outermost: string[] = []
  for (const path of paths.sort(comparePaths)) {
    const holder = outermost.at(-1)
    if (holder === undefined || !(path === holder || path.startsWith(`${holder}/`))) outermost.push(path)
  }
  return outermost
}

/** Workspace-relative paths of the bind mounts, parents first: what is never emptied, replaced or saved. */
export function mountPaths(manifest: Manifest): readonly string[] {
  return listEntries(manifest).flatMap(({ path, entry }) => (entry.kind === 'bind_mount' ? [path] : []))
}

/** A mount as the manifest asks for it. `source` is as written: not yet resolved, and not yet granted. */
export interface RequestedMount {
  readonly source: string
  /** Absolute sandbox path. */
  readonly target: string
  readonly readOnly: boolean
}

/** The bind mounts, parents first, beneath the workspace as the sandbox has it. */
export function mountPlans(manifest: Manifest, workspaceRoot: string = manifest.root): readonly RequestedMount[] {
  const root = workspaceRoot.replace(/\/+$/, '')
  return listEntries(manifest).flatMap(({ path, entry }) =>
    entry.kind === 'bind_mount' ? [{ source: entry.source, target: `${root}/${path}`, readOnly: entry.readOnly }] : [],
  )
}

/**
 * Groups of entries that are one and the same where names are not told apart by case (macOS by default). Such a manifest
 * is refused where `features.foldsCase`.
 */
export function caseFoldCollisions(manifest: Manifest): readonly (readonly string[])[] {
  const folded = new Map<string, Set<string>>()
  for (const { path } of listEntries(manifest)) {
    for (let end = path.indexOf('/'); ; end = path.indexOf('/', end + 1)) {
      const ancestor = end === -1 ? path : path.slice(0, end)
      const key = ancestor.normalize('NFC').toLowerCase()
      folded.set(key, (folded.get(key) ?? new Set()).add(ancestor))
      if (end === -1) break
    }
  }
  return [...folded.values()].filter((paths) => paths.size > 1).map((paths) => [...paths])
}
