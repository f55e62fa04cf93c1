import { STEP_BOUNDS_MS } from '../acquire/release-steps.js'
import { SandboxError } from '../errors/sandbox-error.js'
import type { HostOptions } from './host-options.js'

const KNOWN: readonly (keyof HostOptions)[] = [
  'plugins',
  'defaultBackend',
  'require',
  'deployment',
  'baseDir',
  'grants',
  'dataDir',
  'snapshots',
  'secrets',
  'stateKey',
  'leaseTtlMs',
  'releaseBoundsMs',
  'maxParked',
  'drainOnSignals',
  'logger',
  'clock',
  'container',
]

/** Throws `invalid_config` with every problem at once. What the types rule out is checked for callers without them. */
export function checkHostOptions(options: HostOptions): void {
  const problems: string[] = []
  for (const name of Object.keys(options)) {
    if (!(KNOWN as readonly string[]).includes(name))
      problems.push(`there is no option ${name}; there are ${KNOWN.join(', ')}`)
  }
  if (!Array.isArray(options.plugins)) problems.push('plugins is a list of plugins')
  const { deployment, leaseTtlMs, maxParked, stateKey } = options
  if (deployment !== undefined && !/^[a-z0-9][a-z0-9-]{0,62}$/.test(deployment)) {
    problems.push('deployment is made of a-z, 0-9 and -, at most 63 characters, because it becomes a label')
  }
  if (leaseTtlMs !== undefined && !(Number.isFinite(leaseTtlMs) && leaseTtlMs >= 1_000)) {
    problems.push('leaseTtlMs is a number of milliseconds, at least 1 000')
  }
  for (const [step, boundMs] of Object.entries(options.releaseBoundsMs ?? {})) {
    if (!Object.hasOwn(STEP_BOUNDS_MS, step)) {
      problems.push(`releaseBoundsMs: there is no step ${step}; there are ${Object.keys(STEP_BOUNDS_MS).join(', ')}`)
    } else if (!(Number.isFinite(boundMs) && boundMs > 0 && boundMs < 2 ** 31)) {
      problems.push(`releaseBoundsMs.${step} is a number of milliseconds, above 0 and at most 24 days`)
    }
  }
  if (maxParked !== undefined && !(Number.isInteger(maxParked) && maxParked >= 0))
    problems.push('maxParked is a whole number')
  if (stateKey !== undefined && !(stateKey instanceof Uint8Array && stateKey.length >= 32)) {
    problems.push('stateKey is a Uint8Array of at least 32 bytes')
  }
  if (problems.length > 0)
    throw new SandboxError('invalid_config', problems.map((each) => `createHost: ${each}`).join('\n'), { problems })
}
