import { SandboxError } from '@cofferdam/core/plugin'
import type { BackendFeatures, CreateSandbox } from '@cofferdam/core/plugin'

/** Throws `unsupported_feature` for everything in a request that processes without walls cannot have. */
export function refuseUnsupported(request: CreateSandbox, features: BackendFeatures): void {
  const [first] = [...unsupportedOf(request), ...unmetOf(request, features)]
  if (first === undefined) return
  const { feature, reason } = first
  throw new SandboxError(
    'unsupported_feature',
    `The local backend cannot do this: ${reason}.`,
    { feature, reason },
    { backend: 'local' },
  )
}

interface Unsupported {
  readonly feature: string
  readonly reason: string
}

function unsupportedOf(request: CreateSandbox): Unsupported[] {
  const found: Unsupported[] = []
  const { network, limits } = request
  if (request.mounts.length > 0) {
    found.push({
      feature: 'bindMounts',
      reason: 'commands see the whole machine, and nothing can be mounted for them alone',
    })
  }
  if (request.users === 'on') {
    found.push({ feature: 'users', reason: 'all commands run as the user of this process' })
  }
  if (network.kind !== 'open') {
    found.push({
      feature: 'network',
      reason: `the network is that of this machine, and ${network.kind} cannot be enforced; ask for open`,
    })
  }
  for (const [limit, value] of Object.entries(limits)) {
    if (value === null) continue
    found.push({
      feature: `limits.${limit}`,
      reason: `${limit} of a whole sandbox cannot be bounded; bound single commands`,
    })
  }
  if (request.fromNative !== null) {
    found.push({ feature: 'nativeSnapshot', reason: 'it has no snapshots of its own' })
  }
  return found
}

const ISOLATION = ['none', 'process', 'container', 'vm']

function unmetOf({ requires }: CreateSandbox, features: BackendFeatures): Unsupported[] {
  const { isolation = 'none', network, limits = {}, killTree, ...flags } = requires
  const found: Unsupported[] = []
  const unmet = (feature: string): unknown =>
    found.push({ feature, reason: `${feature} is required, and it has none of the kind` })
  if (ISOLATION.indexOf(isolation) > ISOLATION.indexOf(features.isolation)) unmet('isolation')
  if (network !== undefined && !features.network.includes(network)) unmet('network')
  if (killTree !== undefined && features.killTree !== killTree) unmet('killTree')
  for (const [limit, wanted] of Object.entries(limits)) {
    if (wanted && !features.limits[limit as keyof typeof features.limits]) unmet(`limits.${limit}`)
  }
  for (const [flag, wanted] of Object.entries(flags)) {
    if (wanted && features[flag as keyof typeof flags] !== true) unmet(flag)
  }
  return found
}
