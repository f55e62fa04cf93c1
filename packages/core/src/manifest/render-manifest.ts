import { isContentEntry } from './entry.js'
import type { Entry } from './entry.js'
import { joinEntryPath, listEntries } from './list-entries.js'
import type { Manifest, PlacedEntry } from './manifest.js'

export interface RenderOptions {
  /** Levels of the tree. Default 3. */
  readonly depth?: number
  /** Lines of the tree at most. Default 120. */
  readonly maxLines?: number
  /** Characters of the whole text at most. Default 12 000. */
  readonly maxCharacters?: number
  /** Where the workspace really lies. Default: what the manifest says. */
  readonly root?: string
}

/**
 * The text that an agent reads about its workspace: a tree of what was put there, what each thing is, what may be written.
 *
 * It says where nothing of the host lies, no value of the environment and no name of a secret. Its length is bounded: what
 * is left out is counted, and the text says how to look for oneself.
 */
export function renderManifest(manifest: Manifest, options: RenderOptions = {}): string {
  const { depth = 3, maxLines = 120, maxCharacters = 12_000, root = manifest.root } = options
  const lines = [`Workspace: ${root}`]
  const environment = Object.entries(manifest.environment).map(([name, variable]) =>
    withDescription(`  ${name}`, variable.description),
  )
  const tree = treeLines(manifest, depth)
  lines.push(...tree.slice(0, maxLines))
  const hidden = tree.length - Math.min(tree.length, maxLines)
  if (hidden > 0) lines.push(`… and ${hidden} more; list the directories to see them`)
  if (environment.length > 0) lines.push('Environment variables that are set:', ...environment)
  return bounded(lines, maxCharacters)
}

interface Node {
  placed?: PlacedEntry
  readonly children: Map<string, Node>
}

function treeLines(manifest: Manifest, depth: number): string[] {
  const top: Node = { children: new Map() }
  for (const placed of listEntries(manifest)) insert(top, placed)
  const lines = top.placed === undefined ? [] : [`. ${describe(top.placed.entry)}`]
  const walk = (node: Node, level: number): void => {
    for (const [name, child] of node.children) {
      const isDir = child.children.size > 0 || child.placed?.entry.kind === 'dir'
      const about = child.placed === undefined ? '' : ` ${describe(child.placed.entry)}`
      const more = level >= depth && child.children.size > 0 ? ` (${count(child)} entries)` : ''
      lines.push(`${'  '.repeat(level)}${visible(name)}${isDir ? '/' : ''}${about}${more}`.trimEnd())
      if (level < depth) walk(child, level + 1)
    }
  }
  walk(top, 1)
  return lines
}

function insert(top: Node, placed: PlacedEntry): void {
  const { path, entry } = placed
  const places = entry.kind === 'projection' ? entry.roots.map((root) => joinEntryPath(path, root)) : [path]
  for (const place of places) {
    let node = top
    for (const name of place === '.' ? [] : place.split('/')) {
      const next = node.children.get(name) ?? { children: new Map<string, Node>() }
      node.children.set(name, next)
      node = next
    }
    node.placed = placed
  }
}

function count(node: Node): number {
  return [...node.children.values()].reduce((sum, child) => sum + count(child), 0) + (node.placed === undefined ? 0 : 1)
}

function describe(entry: Entry): string {
  const notes = [KIND_TEXT[entry.kind], ...accessOf(entry)].filter((note) => note !== '')
  return withDescription(notes.length === 0 ? '' : `[${notes.join(', ')}]`, entry.description).trim()
}

const KIND_TEXT: Readonly<Record<Entry['kind'], string>> = {
  file: '',
  dir: '',
  local_file: '',
  local_dir: 'directory',
  git_repo: 'git repository',
  symlink: 'link',
  projection: 'kept up to date from outside',
  bind_mount: 'mount',
}

function accessOf(entry: Entry): readonly string[] {
  if (entry.kind === 'bind_mount') return [entry.readOnly ? 'read-only' : 'read and write: changes are visible outside']
  if (entry.kind === 'projection') return ['changes are overwritten']
  if (entry.kind === 'symlink') return [`to ${visible(entry.target)}`, ...lifeOf(entry.ephemeral)]
  if (entry.kind === 'git_repo' && entry.ref !== undefined) return [`at ${entry.ref}`, ...lifeOf(entry.ephemeral)]
  return isContentEntry(entry) ? lifeOf(entry.ephemeral) : []
}

function lifeOf(ephemeral: boolean): readonly string[] {
  return ephemeral ? ['not saved'] : []
}

function withDescription(text: string, description: string | undefined): string {
  return description === undefined ? text : `${text} — ${description}`
}

/** A name may hold a line break, and must not look like two lines to a model. */
function visible(name: string): string {
  return /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u.test(name) ? JSON.stringify(name) : name
}

function bounded(lines: readonly string[], maxCharacters: number): string {
  const text = lines.join('\n')
  if (text.length <= maxCharacters) return text
  const note = '\n… (shortened; list the directories to see the rest)'
  const room = Math.max(0, maxCharacters - note.length)
  const cut = text.lastIndexOf('\n', room)
  return text.slice(0, cut > 0 ? cut : room) + note
}
