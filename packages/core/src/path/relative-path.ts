import { escapes, pathComponents, unusable } from './path-components.js'

declare const relativePath: unique symbol

/**
 * A path beneath some root that is not said here: a manifest's key, a member of an archive, a line of a tree. Normalised:
 * not empty, no leading or trailing slash, no `//`, no `.`, and **no `..` at all**. Two texts that name the same place
 * without links in between have the same `RelativePath`.
 */
export type RelativePath = string & { readonly [relativePath]: true }

/**
 * Parses `a/b`, `./a//b/` and the like. `..` is refused even where it would stay inside: `a/x/../b` is `a/b` only as long
 * as `x` is not a link, and nobody writes a key or a member that way without meaning to confuse.
 *
 * Backslash, `%2e`, `~` and drive letters are ordinary characters.
 *
 * @param what how the message calls it, e.g. `manifest key`
 * @throws `path_escape` when absolute or with a `..`; `invalid_argument` when empty, naming the root itself, with a NUL
 * byte, with a name over 255 bytes, or over 4096 bytes
 */
export function parseRelativePath(text: string, what: string = 'path'): RelativePath {
  const components = pathComponents(text, what)
  if (text.startsWith('/')) throw escapes(text, what, 'is absolute; write it relative to the root')
  if (components.includes('..')) throw escapes(text, what, "has a '..'; write where it leads instead")
  if (components.length === 0) throw unusable(what, 'it names the root itself')
  return components.join('/') as RelativePath
}

/** The directory that holds it; `undefined` when that is the root. */
export function parentPath(path: RelativePath): RelativePath | undefined {
  const slash = path.lastIndexOf('/')
  return slash === -1 ? undefined : (path.slice(0, slash) as RelativePath)
}

/** Number of components: 1 for `a`, 3 for `a/b/c`. */
export function pathDepth(path: RelativePath): number {
  let depth = 1
  for (let i = path.indexOf('/'); i !== -1; i = path.indexOf('/', i + 1)) depth++
  return depth
}
