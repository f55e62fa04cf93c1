import { pathComponents, unusable } from './path-components.js'

/** The application's permission for one directory or file of the host. It never comes from a manifest or a stored state. */
export interface PathGrant {
  /** Absolute host path, without links in it: compared with the real path of what was opened. */
  readonly path: string
  readonly access: 'read' | 'read-write'
}

/**
 * The grants, checked and normalised.
 *
 * @throws `invalid_argument` for a grant that is not absolute, has a `..`, or is `/`
 */
export function parsePathGrants(grants: readonly PathGrant[]): readonly PathGrant[] {
  return grants.map(({ path, access }) => {
    const components = pathComponents(path, 'grant')
    if (!path.startsWith('/')) throw unusable('grant', 'it is not absolute')
    if (components.includes('..')) throw unusable('grant', "it has a '..'")
    if (components.length === 0) throw unusable('grant', "it is '/', which would grant the whole machine")
    if (access !== 'read' && access !== 'read-write')
      throw unusable('grant', "access is neither 'read' nor 'read-write'")
    return { path: `/${components.join('/')}`, access }
  })
}

/**
 * The innermost grant that holds a host path, or `undefined`. Of two grants for the same path the narrower one counts.
 *
 * This is only the lexical half: ask with the real path of an open descriptor, never with a path that will be opened
 * afterwards. A path that is relative or still has a `.` or `..` in it is not a real path, so nothing is granted for it.
 */
export function grantFor(hostPath: string, grants: readonly PathGrant[]): PathGrant | undefined {
  if (!hostPath.startsWith('/') || hostPath.includes('\0')) return undefined
  if (hostPath.split('/').some((component) => component === '.' || component === '..')) return undefined
  let found: PathGrant | undefined
  for (const grant of grants) {
    if (hostPath !== grant.path && !hostPath.startsWith(`${grant.path}/`)) continue
    const deeper = found === undefined || grant.path.length > found.path.length
    if (deeper || (grant.path === found?.path && grant.access === 'read')) found = grant
  }
  return found
}
