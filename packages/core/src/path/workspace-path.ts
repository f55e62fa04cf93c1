/**
 * Paths as agents and tools write them, parsed once against what a session may reach.
 *
 * A lexical check is only the first of two: it refuses what is plainly outside, early and with a good message. Where a
 * path really leads is decided at use, on the descriptor it was resolved to, because links may point anywhere. For the same
 * reason a `..` which stays inside is **kept**: `link/../x` is beside the link's target, not beside the link, and only the
 * kernel knows.
 */
import { escapes, pathComponents, unusable } from './path-components.js'

declare const workspacePath: unique symbol

/** An absolute path in the sandbox, as its processes see it, lexically inside the workspace or a mount. */
export type WorkspacePath = string & { readonly [workspacePath]: true }

/** A directory besides the workspace which the session may reach; also one mounted inside the workspace. */
export interface PathMount {
  /** Absolute sandbox path. */
  readonly path: string
  readonly readOnly: boolean
}

/** What paths are parsed against. All of it is absolute sandbox paths, and none of it may be `/`. */
export interface PathScope {
  readonly workspaceRoot: string
  /** Where relative paths begin. Default: the workspace's root. */
  readonly cwd?: string
  readonly mounts: readonly PathMount[]
}

/**
 * Parses what an agent wrote: relative means beneath `cwd`; absolute must lie in the workspace or a mount. `//`, `.` and a
 * trailing slash are normalised away; `..` is kept where no step of the way leaves the allowed roots.
 *
 * Backslash, `%2e`, `~` and drive letters are ordinary characters.
 *
 * @throws `path_escape` when outside, or when a `..` leaves the allowed roots, even if a later part comes back;
 * `invalid_argument` when empty, with a NUL byte, with a name over 255 bytes, or over 4096 bytes
 */
export function parseWorkspacePath(text: string, scope: PathScope): WorkspacePath {
  const written = pathComponents(text, 'path')
  const roots = scopeRoots(scope)
  const start = text.startsWith('/') ? [] : pathComponents(scope.cwd ?? scope.workspaceRoot, 'working directory')
  const components = [...start, ...written]
  if (!staysInside(components, roots)) {
    throw escapes(text, 'path', 'leads out of the workspace and of every mount; use a path inside')
  }
  return `/${components.join('/')}` as WorkspacePath
}

/**
 * Whether an absolute path is `root` or lies beneath it, lexically: `/ab` is not in `/a`, and a `..` counts as the step up
 * that it would be without links.
 */
export function isInside(path: string, root: string): boolean {
  const collapsed = collapse(path)
  return collapsed !== undefined && startsWith(collapsed, split(root))
}

/**
 * The path relative to the workspace's root, `.` for the root itself; what an agent is shown. A `..` is kept.
 *
 * @throws `path_escape` for a path in a mount outside the workspace
 */
export function workspaceRelative(path: WorkspacePath, scope: PathScope): string {
  const components = split(path)
  const root = split(scope.workspaceRoot)
  if (!startsWith(components, root)) throw escapes(path, 'path', 'is not in the workspace but in another mount')
  return components.slice(root.length).join('/') || '.'
}

/** The innermost mount that holds the path lexically; `undefined` when that is the workspace itself. */
export function findMount(path: WorkspacePath, scope: PathScope): PathMount | undefined {
  const components = collapse(path)
  if (components === undefined) return undefined
  let found: PathMount | undefined
  let depth = -1
  for (const mount of scope.mounts) {
    const root = split(mount.path)
    if (root.length <= depth || !startsWith(components, root)) continue
    found = mount
    depth = root.length
  }
  // A mount which holds the workspace is outside it, not over it.
  const workspace = split(scope.workspaceRoot)
  return startsWith(components, workspace) && depth < workspace.length ? undefined : found
}

function scopeRoots(scope: PathScope): string[][] {
  return [
    checkedRoot(scope.workspaceRoot, 'workspaceRoot'),
    ...scope.mounts.map((mount) => checkedRoot(mount.path, 'mount')),
  ]
}

function checkedRoot(root: string, what: string): string[] {
  if (!root.startsWith('/')) throw unusable(what, 'it is not absolute')
  const components = split(root)
  if (components.length === 0) throw unusable(what, "it is '/', which would allow everything")
  if (components.includes('..')) throw unusable(what, "it has a '..'")
  return components
}

/** Walks as the text says. Each `..` must arrive inside a root, and so must the end. */
function staysInside(components: readonly string[], roots: readonly (readonly string[])[]): boolean {
  const at: string[] = []
  const inside = (): boolean => roots.some((root) => startsWith(at, root))
  for (const component of components) {
    if (component !== '..') at.push(component)
    else if (at.pop() === undefined || !inside()) return false
  }
  return inside()
}

function collapse(path: string): string[] | undefined {
  if (!path.startsWith('/')) return undefined
  const at: string[] = []
  for (const component of split(path)) {
    if (component === '..') at.pop()
    else at.push(component)
  }
  return at
}

function split(path: string): string[] {
  return path.split('/').filter((component) => component !== '' && component !== '.')
}

function startsWith(components: readonly string[], root: readonly string[]): boolean {
  return components.length >= root.length && root.every((component, i) => component === components[i])
}
