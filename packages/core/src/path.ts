/** Paths as text and as bytes, parsed once into types that say where they may lie. Pure: nothing here opens a file. */
export { canonicalPathText, comparePaths, decodePath, encodePath, pathByteLength } from './path/path-bytes.js'
export { MAX_COMPONENT_BYTES, MAX_PATH_BYTES, quotePath } from './path/path-components.js'
export { grantFor, parsePathGrants } from './path/path-grant.js'
export type { PathGrant } from './path/path-grant.js'
export { parentPath, parseRelativePath, pathDepth } from './path/relative-path.js'
export type { RelativePath } from './path/relative-path.js'
export { findMount, isInside, parseWorkspacePath, workspaceRelative } from './path/workspace-path.js'
export type { PathMount, PathScope, WorkspacePath } from './path/workspace-path.js'
