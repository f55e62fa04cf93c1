import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import { SandboxError } from '../errors/sandbox-error.js'
import { createHostFiles } from '../host-files/host-files.js'
import type { SandboxFiles } from '../contracts/files.js'
import { grantFor, parsePathGrants } from '../path/path-grant.js'
import type { PathGrant } from '../path/path-grant.js'
import type { HostAccess } from './host-access.js'

/** The places of the host that a manifest may read, as files; what is outside is `path_escape`, decided at each use. */
export interface HostSources {
  readonly files: SandboxFiles
  /** The host path that a manifest's `source` means. */
  locate(source: string): string
}

/** Read-only, whatever the grants say: materialising only ever reads. */
export async function openHostSources(hostAccess: HostAccess): Promise<HostSources> {
  const grants = await realGrants(hostAccess)
  const files = createHostFiles({ roots: grants.map(({ path }) => ({ path, readOnly: true })) })
  return { files, locate: (source) => resolve(hostAccess.baseDir, source) }
}

/**
 * The real path of a source that is to be mounted.
 *
 * @throws `path_escape` when nothing grants it, `path_denied` when it is granted for reading only, `not_found`
 */
export async function grantedMountSource(source: string, readOnly: boolean, hostAccess: HostAccess): Promise<string> {
  const written = resolve(hostAccess.baseDir, source)
  const real = await realpath(written).catch((cause: unknown) => {
    throw new SandboxError('not_found', `There is no ${written} on the host to mount.`, { path: written }, { cause })
  })
  const grant = grantFor(real, await realGrants(hostAccess))
  if (grant === undefined) {
    const message = `The mount of ${written} needs a grant: createHost({ grants: [{ path, access }] }).`
    throw new SandboxError('path_escape', message, { path: written })
  }
  if (!readOnly && grant.access !== 'read-write') {
    const reason = "mounting it for writing needs a grant with access: 'read-write'"
    throw new SandboxError('path_denied', `${written}: ${reason}.`, { path: written, reason })
  }
  return real
}

/** The grants with links resolved, for they are compared with real paths. A place that is not there grants nothing. */
async function realGrants({ baseDir, grants }: HostAccess): Promise<readonly PathGrant[]> {
  const all = [
    ...grants,
    ...(grants.some(({ path }) => path === baseDir) ? [] : [{ path: baseDir, access: 'read' } as const]),
  ]
  const real = await Promise.all(
    all.map(async ({ path, access }) => {
      const found = await realpath(path).catch(() => undefined)
      return found === undefined ? [] : [{ path: found, access }]
    }),
  )
  return parsePathGrants(real.flat())
}
