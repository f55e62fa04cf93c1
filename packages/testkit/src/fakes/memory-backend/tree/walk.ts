import { PosixError } from './posix-error.js'
import type { Errno } from './posix-error.js'
import type { DirNode, Node } from './nodes.js'

const MAX_LINKS = 40

/** Where a path leads: an entry of a directory, which may be missing. */
export interface Place {
  readonly parent: DirNode
  readonly name: string
  readonly node: Node | undefined
}

export interface WalkRequest {
  readonly root: DirNode
  /** Where relative paths begin. */
  readonly from: DirNode
  readonly path: string
  /** Whether a link at the end is followed; with a slash behind it, it always is. */
  readonly follow: boolean
}

/** A walk that ended before its path did, and in which directory. */
export class WalkError extends PosixError {
  readonly at: DirNode

  constructor(errno: Errno, at: DirNode) {
    super(errno)
    this.at = at
  }
}

/** Resolves a path as the kernel does: link by link, `..` by what is there and not by the text. */
export function walk(request: WalkRequest): Place {
  const { root, path } = request
  if (path === '') throw new WalkError('ENOENT', request.from)
  let directory = path.startsWith('/') ? root : request.from
  const ahead = components(path)
  let needsDirectory = endsInDirectory(path)
  let links = 0
  while (ahead.length > 0) {
    const name = ahead.pop()!
    if (name === '..') {
      directory = directory.parent ?? directory
      continue
    }
    const last = ahead.length === 0
    const node = directory.entries.get(name)
    if (node === undefined) {
      if (last) return { parent: directory, name, node }
      throw new WalkError('ENOENT', directory)
    }
    if (node.type === 'symlink' && (!last || request.follow || needsDirectory)) {
      if (++links > MAX_LINKS) throw new WalkError('ELOOP', directory)
      if (last) needsDirectory ||= endsInDirectory(node.target)
      if (node.target.startsWith('/')) directory = root
      ahead.push(...components(node.target))
      continue
    }
    if (node.type === 'directory' && !last) {
      directory = node
      continue
    }
    if (!last || (needsDirectory && node.type !== 'directory')) throw new WalkError('ENOTDIR', directory)
    return { parent: directory, name, node }
  }
  return { parent: directory.parent ?? directory, name: directory.name, node: directory }
}

/** Last component first, so that the next one is popped. */
function components(path: string): string[] {
  return path
    .split('/')
    .filter((component) => component !== '' && component !== '.')
    .reverse()
}

function endsInDirectory(path: string): boolean {
  return path.endsWith('/') || path.endsWith('/.') || path.endsWith('/..') || path === '.' || path === '..'
}
