import type { MountPlan } from '../contracts/client.js'
import type { BackendFeatures } from '../contracts/features.js'
import { SandboxError } from '../errors/sandbox-error.js'
import { listEntries } from '../manifest/list-entries.js'
import type { Manifest } from '../manifest/manifest.js'
import type { HostAccess } from './host-access.js'
import { grantedMountSource } from './host-source.js'

export interface ResolveMountsRequest {
  readonly hostAccess: HostAccess
  readonly features: Pick<BackendFeatures, 'bindMounts'>
  /** Where the workspace lies in the sandbox. Default: what the manifest says. */
  readonly workspaceRoot?: string
}

/**
 * The bind mounts that a sandbox is made with, parents first, each granted by the application. Where the backend has none,
 * those with `ifUnsupported: 'skip'` are left out here; `materialize` reports them.
 *
 * @throws `path_escape` and `path_denied` for what is not granted, `not_found`, `unsupported_feature`
 */
export async function resolveMounts(manifest: Manifest, request: ResolveMountsRequest): Promise<readonly MountPlan[]> {
  const { hostAccess, features, workspaceRoot = manifest.root } = request
  const mounts: MountPlan[] = []
  for (const { path, entry } of listEntries(manifest)) {
    if (entry.kind !== 'bind_mount') continue
    if (!features.bindMounts) {
      if (entry.ifUnsupported === 'skip') continue
      throw unsupportedMount(path)
    }
    const source = await grantedMountSource(entry.source, entry.readOnly, hostAccess)
    mounts.push({ source, target: `${workspaceRoot}/${path}`, readOnly: entry.readOnly })
  }
  return mounts
}

export function unsupportedMount(path: string): SandboxError<'unsupported_feature'> {
  const reason = 'this backend mounts no directories of the host'
  const message = `entries.${path}: ${reason}; use local_dir or projection, or say ifUnsupported: 'skip'.`
  return new SandboxError('unsupported_feature', message, { feature: 'bindMounts', reason })
}
