import type { BoundCapability, Capability, CapabilityContext } from '../contracts/capability.js'
import type { Tool } from '../contracts/tool.js'
import type { JsonValue } from '../errors/error-details.js'
import type { Manifest } from '../manifest/manifest.js'

/** What the author of a capability says. Everything but `type` and `bind` has a default. */
export interface CapabilityDefinition {
  /** `[a-z][a-z0-9_-]{0,63}`, unique among the capabilities of an agent. */
  readonly type: string
  /** Types of capabilities that must be given too. Default: none. */
  readonly requires?: readonly string[]
  /** What the workspace must hold for it. Pure. Default: the manifest as it is. */
  readonly manifest?: (manifest: Manifest) => Manifest
  /** Makes what one run on one session needs. Whatever it keeps belongs to that run: nothing is shared between two. */
  bind(context: CapabilityContext): CapabilityBinding | Promise<CapabilityBinding>
}

/** What `bind` gives. Every member has a default: nothing. */
export interface CapabilityBinding {
  readonly tools?: readonly Tool[]
  /** Added to the agent's instructions. */
  readonly instructions?: string
  /** Changes to sampling parameters. */
  readonly sampling?: { readonly [key: string]: JsonValue }
  /** Rewrites what is sent to the model. */
  readonly input?: (items: readonly JsonValue[]) => readonly JsonValue[] | Promise<readonly JsonValue[]>
  /** Ends what the binding started. Called once. */
  readonly dispose?: () => void | Promise<void>
}

/**
 * Makes a {@link Capability} of a definition, with every default filled in.
 *
 * ```ts
 * const clock = defineCapability({
 *   type: 'clock',
 *   bind: ({ session }) => ({ tools: [clockTool(session)], instructions: 'Ask the clock for the time.' }),
 * })
 * ```
 *
 * @throws TypeError when the type is not acceptable
 */
export function defineCapability(definition: CapabilityDefinition): Capability {
  const { type } = definition
  if (!/^[a-z][a-z0-9_-]{0,63}$/.test(type)) {
    throw new TypeError(`a capability's type must match [a-z][a-z0-9_-]{0,63}, not ${JSON.stringify(type)}`)
  }
  return Object.freeze({
    type,
    requires: Object.freeze([...(definition.requires ?? [])]),
    manifest: definition.manifest ?? ((manifest: Manifest) => manifest),
    bind: async (context: CapabilityContext) => completeBinding(await definition.bind(context)),
  })
}

function completeBinding(binding: CapabilityBinding): BoundCapability {
  let disposed: Promise<void> | undefined
  return {
    tools: binding.tools ?? [],
    instructions: binding.instructions ?? null,
    sampling: binding.sampling ?? {},
    input: async (items) => binding.input?.(items) ?? items,
    [Symbol.asyncDispose]: () => (disposed ??= (async () => binding.dispose?.())()),
  }
}
