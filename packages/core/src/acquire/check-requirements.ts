import type { BackendFeatures, FeatureRequirements, Isolation } from '../contracts/features.js'
import { SandboxError } from '../errors/sandbox-error.js'

const ISOLATION_ORDER: readonly Isolation[] = ['none', 'process', 'container', 'vm']

const FLAGS = ['tty', 'pause', 'ports', 'users', 'bindMounts', 'reattach', 'persistentWorkspace'] as const
const KNOWN: readonly string[] = ['isolation', 'network', 'limits', 'killTree', ...FLAGS]

/** One line for each requirement that the features do not meet. Throws `invalid_argument` for one that is none. */
export function unmetRequirements(features: BackendFeatures, requires: FeatureRequirements): readonly string[] {
  assertKnown(requires)
  const unmet: string[] = []
  const { isolation, network, limits, killTree, ...flags } = requires
  if (isolation !== undefined && ISOLATION_ORDER.indexOf(features.isolation) < ISOLATION_ORDER.indexOf(isolation)) {
    unmet.push(`isolation of at least ${isolation} is required, and it has ${features.isolation}`)
  }
  if (network !== undefined && !features.network.includes(network)) {
    unmet.push(`network ${network} is required, and it can enforce ${features.network.join(', ')}`)
  }
  if (killTree !== undefined && features.killTree !== killTree) unmet.push(`killTree ${killTree} is required`)
  for (const [flag, wanted] of Object.entries(flags)) {
    if (wanted === true && features[flag as keyof typeof flags] !== true) unmet.push(`${flag} is required`)
  }
  for (const [limit, wanted] of Object.entries(limits ?? {})) {
    if (wanted === true && !features.limits[limit as keyof typeof features.limits])
      unmet.push(`a ${limit} limit is required`)
  }
  return unmet
}

/** Throws `unsupported_feature` that names everything missing. */
export function assertRequirements(features: BackendFeatures, requires: FeatureRequirements, backend: string): void {
  const unmet = unmetRequirements(features, requires)
  if (unmet.length === 0) return
  const reason = unmet.join('; ')
  throw new SandboxError(
    'unsupported_feature',
    `backend ${backend} does not offer what is required: ${reason}. Choose another backend, or require less.`,
    { feature: unmet[0]?.split(' ')[0] ?? 'features', reason },
    { backend },
  )
}

/** A requirement that is misspelt must not pass for one that is met. */
function assertKnown(requires: FeatureRequirements): void {
  for (const [name, wanted] of Object.entries(requires) as [string, unknown][]) {
    if (wanted === undefined) continue
    if (!KNOWN.includes(name)) throw noRequirement(`there is no requirement ${name}; there are ${KNOWN.join(', ')}`)
    if (name === 'isolation' && !(ISOLATION_ORDER as readonly unknown[]).includes(wanted)) {
      throw noRequirement(`isolation is one of ${ISOLATION_ORDER.join(', ')}`)
    }
    if ((FLAGS as readonly string[]).includes(name) && wanted !== true)
      throw noRequirement(`${name} is true, or left out`)
    if (name === 'limits') {
      for (const [limit, bound] of Object.entries(wanted as object) as [string, unknown][]) {
        const known = ['memory', 'cpu', 'pids', 'disk'].includes(limit)
        if (!known || (bound !== true && bound !== undefined))
          throw noRequirement(`limits.${limit} is no limit that can be required by true`)
      }
    }
  }
}

function noRequirement(reason: string): SandboxError<'invalid_argument'> {
  return new SandboxError('invalid_argument', `require: ${reason}`, { argument: 'require', reason })
}
