import { archiveLimit, archiveRejected } from './archive-error.js'
import type { ArchiveLimits } from './archive-limits.js'
import type { ArchiveMemberType } from './archive-member.js'
import { pathByteLength } from '../path/path-bytes.js'
import type { RelativePath } from '../path/relative-path.js'

/**
 * What the reader knows of the tree that the members so far make. It decides what a name means *in that tree*, which no
 * look at the name alone can.
 *
 * Why links cannot lead out. A member's parents are directories, never links. A target is safe if it never steps above the
 * root. Steps up at its beginning start from real directories, so counting them is enough; whatever names follow are
 * directories, or links that are safe by the same argument. Only a step up *behind* a name needs care, since that name may
 * be a link to some place higher up: such targets are walked here link by link, and names on the way that do not exist yet
 * are marked so that no link can take their place later.
 */
export class MemberTree {
  readonly #options: MemberTreeOptions
  readonly #root: Node
  #nameBytes = 0

  constructor(options: MemberTreeOptions) {
    this.#options = options
    this.#root = {
      name: '',
      kind: 'directory',
      parent: undefined,
      children: undefined,
      walked: false,
      target: undefined,
    }
  }

  /** Takes a member in, or throws `archive_rejected` or `archive_limit` saying why not. */
  admit(path: RelativePath, type: ArchiveMemberType, linkTarget: string): void {
    const components = path.split('/')
    if (components.length > this.#options.limits.maxDepth) throw archiveLimit('maxDepth', this.#options.limits)
    const parent = this.#enter(path, components)
    const leaf = components.at(-1)!
    const existing = parent.children?.get(this.#key(leaf))
    if (existing !== undefined) this.#checkExisting(existing, { path, leaf, type })
    // Before the member itself is in the tree: a link must not be found on the way to its own target.
    if (type === 'hardlink') this.#checkHardlink(path, linkTarget)
    if (type === 'symlink' && this.#options.linkTargets === 'inside') this.#checkSymlink(path, parent, linkTarget)
    const node = parent.children?.get(this.#key(leaf)) ?? this.#add(parent, leaf)
    if (type === 'symlink' && node.walked) {
      throw archiveRejected(path, 'the target of an earlier link leads through its name, and would now lead elsewhere')
    }
    node.name = leaf
    node.kind = type === 'hardlink' ? 'file' : type
    if (type === 'symlink' && this.#options.linkTargets === 'inside') {
      this.#charge(linkTarget)
      node.target = linkTarget.split('/').filter(isName)
    }
  }

  #enter(path: RelativePath, components: readonly string[]): Node {
    let node = this.#root
    for (let i = 0; i < components.length - 1; i++) {
      const name = components[i]!
      const child = node.children?.get(this.#key(name)) ?? this.#add(node, name)
      if (child.kind === 'file') throw archiveRejected(path, 'it lies beneath a member that is a file')
      if (child.kind === 'symlink') throw archiveRejected(path, 'it lies beneath a member that is a symbolic link')
      if (child.kind === 'unknown') {
        child.kind = 'implied'
        child.name = name
      } else if (child.name !== name) {
        throw archiveRejected(path, 'another member differs from it only in letter case or Unicode form')
      }
      node = child
    }
    return node
  }

  #checkExisting(existing: Node, member: { path: RelativePath; leaf: string; type: ArchiveMemberType }): void {
    if (existing.kind === 'unknown') return
    if (existing.name !== member.leaf) {
      throw archiveRejected(member.path, 'another member differs from it only in letter case or Unicode form')
    }
    if (existing.kind === 'implied') {
      if (member.type === 'directory') return
      throw archiveRejected(member.path, 'earlier members lie beneath it, so it cannot be anything but a directory')
    }
    throw archiveRejected(member.path, 'it is in the archive twice')
  }

  #checkHardlink(path: RelativePath, target: string): void {
    let node: Node | undefined = this.#root
    for (const name of target.split('/')) {
      if (node.kind === 'symlink') throw archiveRejected(path, 'its target lies beneath a symbolic link')
      node = node.children?.get(this.#key(name))
      if (node !== undefined && node.name !== name) node = undefined
      if (node === undefined) break
    }
    if (node === undefined || node.kind === 'unknown') {
      throw archiveRejected(path, 'it is a hard link to something that is not in the archive before it')
    }
    if (node.kind !== 'file') throw archiveRejected(path, 'it is a hard link to something that is not a file')
  }

  #checkSymlink(path: RelativePath, parent: Node, target: string): void {
    if (target.startsWith('/')) throw archiveRejected(path, 'it is a link with an absolute target')
    const rest = target.split('/').filter(isName).reverse()
    let stepsUp = rest.filter((name) => name === '..').length
    let at = parent
    let budget = WALK_BUDGET
    while (stepsUp > 0) {
      if (--budget === 0) throw archiveRejected(path, 'its target goes through too many links or names')
      const name = rest.pop()!
      if (name === '..') {
        stepsUp--
        if (at.parent === undefined) throw archiveRejected(path, 'it is a link whose target leaves the root')
        at = at.parent
        continue
      }
      const child = at.children?.get(this.#key(name)) ?? this.#add(at, name)
      if (child.target === undefined) {
        child.walked = true
        at = child
        continue
      }
      for (let i = child.target.length - 1; i >= 0; i--) {
        rest.push(child.target[i]!)
        if (child.target[i] === '..') stepsUp++
      }
    }
  }

  #add(parent: Node, name: string): Node {
    this.#charge(name)
    const node: Node = { name, kind: 'unknown', parent, children: undefined, walked: false, target: undefined }
    parent.children ??= new Map()
    parent.children.set(this.#key(name), node)
    return node
  }

  #charge(name: string): void {
    this.#nameBytes += pathByteLength(name) + NAME_OVERHEAD_BYTES
    if (this.#nameBytes > this.#options.limits.maxNameBytes) throw archiveLimit('maxNameBytes', this.#options.limits)
  }

  #key(name: string): string {
    return this.#options.targetFoldsCase ? foldName(name) : name
  }
}

export interface MemberTreeOptions {
  readonly limits: ArchiveLimits
  readonly targetFoldsCase: boolean
  readonly linkTargets: 'inside' | 'any'
}

interface Node {
  name: string
  /** `implied`: a directory that only members beneath it speak of. `unknown`: only the target of a link speaks of it. */
  kind: 'directory' | 'file' | 'symlink' | 'implied' | 'unknown'
  readonly parent: Node | undefined
  children: Map<string, Node> | undefined
  /** A vetted target steps up from beneath here, so that this can never become a link. */
  walked: boolean
  /** Of links: the components of the target. */
  target: readonly string[] | undefined
}

const NAME_OVERHEAD_BYTES = 64
/** Far above what a system resolves (40 links, 4 096 bytes); bounds the work that one crafted member can cause. */
const WALK_BUDGET = 4096
const IGNORED_BY_FILE_SYSTEMS = /[\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g

function isName(component: string): boolean {
  return component !== '' && component !== '.'
}

/**
 * Equal for names that some file system of macOS or Windows takes for one. It may take more names for equal than a given
 * file system does, never fewer: upper and then lower case is full case folding for all that matters here (ß, ſ, K).
 */
function foldName(name: string): string {
  const fold = (text: string): string => text.normalize('NFD').toUpperCase().toLowerCase()
  return fold(fold(name.replace(IGNORED_BY_FILE_SYSTEMS, '')))
}
