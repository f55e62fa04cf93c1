import { SandboxError } from '@cofferdam/core/plugin'
import type { BackendFeatures, CreateSandbox, FeatureRequirements } from '@cofferdam/core/plugin'

/** What the folder backend can do: little, and it says so. The suite checks each line in both directions. */
export const FEATURES: BackendFeatures = Object.freeze({
  isolation: 'none',
  network: Object.freeze(['open'] as const),
  tty: false,
  killTree: 'best-effort',
  fencing: false,
  pause: false,
  freeze: false,
  ports: false,
  limits: Object.freeze({ memory: false, cpu: false, pids: false, disk: false }),
  users: false,
  bindMounts: false,
  vaults: false,
  reattach: true,
  persistentWorkspace: true,
  nativeSnapshot: false,
  fork: false,
  foldsCase: false,
  byteNames: true,
})

export function unsupported(feature: string): SandboxError {
  return new SandboxError('unsupported_feature', `the folder backend has no ${feature}`, {
    feature,
    reason: 'it is declared false',
  })
}

/** What is asked for and not there is refused before anything is made, never ignored. */
export function assertPossible(request: CreateSandbox): void {
  if (request.mounts.length > 0) throw unsupported('bindMounts')
  if (request.network.kind !== 'open') throw unsupported(`network ${request.network.kind}`)
  if (Object.values(request.limits).some((limit) => limit !== null)) throw unsupported('limits')
  if (request.users === 'on') throw unsupported('users')
  if (request.fromNative !== null) throw unsupported('nativeSnapshot')
  assertMet(request.requires)
}

function assertMet({ isolation = 'none', network = 'open', limits = {}, ...others }: FeatureRequirements): void {
  if (isolation !== 'none') throw unsupported(`isolation ${isolation}`)
  if (network !== 'open') throw unsupported(`network ${network}`)
  if (Object.keys(limits).length > 0) throw unsupported('limits')
  for (const [name, wanted] of Object.entries(others)) {
    if (FEATURES[name as keyof typeof others] !== wanted) throw unsupported(name)
  }
}
