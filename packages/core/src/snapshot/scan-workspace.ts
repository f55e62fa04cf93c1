import type { ArchiveLimits } from '../archive/archive-limits.js'
import type { FileType, TreeEntry } from '../contracts/files.js'
import type { Sandbox } from '../contracts/sandbox.js'
import { SandboxError } from '../errors/sandbox-error.js'
import { compileIgnoreRules } from '../match/ignore-rules.js'
import { pathByteLength } from '../path/path-bytes.js'
import { parseRelativePath, pathDepth } from '../path/relative-path.js'
import type { RelativePath } from '../path/relative-path.js'

/** True for what stays out, with all beneath. */
export type ExcludeTest = (path: string, type: FileType) => boolean

export interface ScanRequest {
  readonly exclude: ExcludeTest
  readonly limits: ArchiveLimits
  readonly signal: AbortSignal | undefined
}

/** What of the workspace belongs in a snapshot, in the order of the tree. */
export interface WorkspaceScan {
  readonly entries: readonly ScannedEntry[]
  readonly skipped: readonly { readonly path: string; readonly reason: string }[]
}

export interface ScannedEntry {
  readonly path: RelativePath
  readonly type: 'file' | 'directory' | 'symlink' | 'hardlink'
  /** Of hard links: the path of the file's first name. Of symbolic links: as written. */
  readonly linkTarget?: string
  readonly stat: TreeEntry
}

/**
 * `exact` are workspace-relative paths, `patterns` are in gitignore syntax; the control folder, where it lies inside, is
 * added. Throws `invalid_argument`, `path_escape`.
 */
export function compileExclude({ paths }: Sandbox, exact: readonly string[], patterns: readonly string[]): ExcludeTest {
  const excluded = new Set<string>(exact.map((path) => parseRelativePath(path, 'excluded path')))
  if (paths.control.startsWith(`${paths.workspace}/`)) excluded.add(paths.control.slice(paths.workspace.length + 1))
  const isIgnored = compileIgnoreRules(patterns)
  // The tree does not enter what is left out, so that what lies beneath is never asked about.
  return (path, type) => excluded.has(path) || isIgnored(path, type === 'directory')
}

/** Lists the workspace. Throws `snapshot_failed` when it goes over a limit. */
export async function scanWorkspace(sandbox: Sandbox, request: ScanRequest): Promise<WorkspaceScan> {
  const { exclude, limits, signal } = request
  const entries: ScannedEntry[] = []
  const skipped: { path: string; reason: string }[] = []
  const firstNames = new Map<bigint, RelativePath>()
  const size = { nameBytes: 0, contentBytes: 0 }
  const options = { exclude, ...(signal === undefined ? {} : { signal }) }
  for await (const stat of sandbox.files.tree(sandbox.paths.workspace, options)) {
    if (stat.type === 'fifo' || stat.type === 'socket' || stat.type === 'device') {
      skipped.push({ path: stat.path, reason: `a ${stat.type} cannot be saved` })
      continue
    }
    const entry = scanned(stat, firstNames)
    entries.push(entry)
    size.nameBytes += pathByteLength(entry.path.slice(entry.path.lastIndexOf('/') + 1)) + NAME_OVERHEAD_BYTES
    if (entry.type === 'file') size.contentBytes += stat.sizeBytes
    const over = limitOver(limits, { ...size, members: entries.length, depth: pathDepth(entry.path) })
    if (over !== undefined) throw overLimit(over, limits)
  }
  return { entries, skipped }
}

function scanned(stat: TreeEntry, firstNames: Map<bigint, RelativePath>): ScannedEntry {
  const path = parseRelativePath(stat.path, 'path in the workspace')
  if (stat.type === 'directory') return { path, type: 'directory', stat }
  if (stat.type === 'symlink') return { path, type: 'symlink', linkTarget: stat.linkTarget ?? '', stat }
  if (stat.links < 2) return { path, type: 'file', stat }
  const first = firstNames.get(stat.inode)
  if (first !== undefined) return { path, type: 'hardlink', linkTarget: first, stat }
  firstNames.set(stat.inode, path)
  return { path, type: 'file', stat }
}

/** As the reader of archives counts them. */
const NAME_OVERHEAD_BYTES = 64

function limitOver(
  limits: ArchiveLimits,
  size: { nameBytes: number; contentBytes: number; members: number; depth: number },
): keyof ArchiveLimits | undefined {
  if (size.members > limits.maxMembers) return 'maxMembers'
  if (size.contentBytes > limits.maxExtractedBytes) return 'maxExtractedBytes'
  if (size.nameBytes > limits.maxNameBytes) return 'maxNameBytes'
  if (size.depth > limits.maxDepth) return 'maxDepth'
  return undefined
}

/** What is over a limit could not be restored, so it is not saved either. */
export function overLimit(limit: keyof ArchiveLimits, limits: ArchiveLimits): SandboxError<'snapshot_failed'> {
  const reason = `the workspace goes over ${limit}, which is ${limits[limit]}; raise that limit or exclude something`
  return new SandboxError(
    'snapshot_failed',
    `No snapshot was taken: ${reason}.`,
    { reason, paths: [] },
    { retryable: false },
  )
}
