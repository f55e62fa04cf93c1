import { SandboxError } from '@cofferdam/core/plugin'
import type { CreateSandbox, FeatureRequirements } from '@cofferdam/core/plugin'
import { argumentError } from './file-errors.js'
import { MEMORY_FEATURES } from './memory-features.js'

/** The members that a sandbox is made from once and for all; the environment is today's at every use. */
export function describePlan(request: CreateSandbox): string {
  const { workspaceRoot, mounts, limits, network, users, entrypoint, fromNative } = request
  return JSON.stringify({ workspaceRoot, mounts, limits, network, users, entrypoint, fromNative })
}

export function changedMembers(before: string, now: string): string[] {
  const old = JSON.parse(before) as Record<string, unknown>
  const fresh = JSON.parse(now) as Record<string, unknown>
  return Object.keys(fresh).filter((member) => JSON.stringify(old[member]) !== JSON.stringify(fresh[member]))
}

/** Throws for what is asked for and cannot be had; nothing is left out silently. */
export function refuseUnsupported(request: CreateSandbox): void {
  checkRequest(request)
  if (request.mounts.length > 0) throw unsupported('bindMounts', 'there is no host to mount from')
  for (const [limit, value] of Object.entries(request.limits)) {
    if (value !== null) throw unsupported(`limits.${limit}`, 'memory sandboxes have no limits')
  }
  if (!MEMORY_FEATURES.network.includes(request.network.kind))
    throw unsupported('network.policy', 'there is no network')
  if (request.users === 'on') throw unsupported('users', 'there is one user')
  if (request.fromNative !== null) throw unsupported('nativeSnapshot', 'there are no native snapshots')
  refuseRequirements(request.requires)
}

export function unsupported(feature: string, reason: string): SandboxError<'unsupported_feature'> {
  return new SandboxError(
    'unsupported_feature',
    `the memory backend cannot do ${feature}: ${reason}`,
    { feature, reason },
    {
      backend: 'memory',
    },
  )
}

function checkRequest(request: CreateSandbox): void {
  if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(request.name)) throw argumentError('name', JSON.stringify(request.name))
  const { workspaceRoot } = request
  const names = workspaceRoot.split('/').slice(1)
  if (!workspaceRoot.startsWith('/') || names.some((name) => name === '' || name === '.' || name === '..')) {
    throw argumentError('workspaceRoot', `${JSON.stringify(workspaceRoot)} is not a plain absolute path`)
  }
}

function refuseRequirements(requires: FeatureRequirements): void {
  const { isolation, network, limits, killTree, ...flags } = requires
  if (isolation !== undefined && isolation !== 'none') throw unsupported('isolation', `${isolation} is required`)
  if (killTree !== undefined && killTree !== MEMORY_FEATURES.killTree)
    throw unsupported('killTree', `${killTree} is required`)
  if (network !== undefined && !MEMORY_FEATURES.network.includes(network))
    throw unsupported('network', `${network} is required`)
  for (const [limit, wanted] of Object.entries(limits ?? {})) {
    if (wanted) throw unsupported(`limits.${limit}`, 'it is required')
  }
  for (const [feature, wanted] of Object.entries(flags) as [keyof typeof flags, boolean | undefined][]) {
    if (wanted === true && !MEMORY_FEATURES[feature]) throw unsupported(feature, 'it is required')
  }
}
