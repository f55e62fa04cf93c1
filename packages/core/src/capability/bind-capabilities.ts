import type { BoundCapability, Capability, CapabilityContext } from '../contracts/capability.js'
import type { Tool } from '../contracts/tool.js'
import type { JsonValue } from '../errors/error-details.js'
import { assertNotAborted } from '../errors/assert-not-aborted.js'
import { SandboxError } from '../errors/sandbox-error.js'
import { mergeSampling } from './merge-sampling.js'

/**
 * Binds capabilities to one session, in declared order, and gives them as one. Instructions are joined by an empty line,
 * sampling is merged deeply (a later capability wins, lists are replaced), and `input` runs through all of them. Disposal
 * is last bound first; every one is tried and the failures are thrown together.
 *
 * @throws `capability_conflict` when two have the same type or two tools the same name; `capability_missing`; what a
 * `bind` throws; `aborted`. Whatever was bound until then has been disposed; failures of that join in an AggregateError.
 */
export async function bindCapabilities(
  capabilities: readonly Capability[],
  context: CapabilityContext,
): Promise<BoundCapability> {
  assertFitTogether(capabilities)
  const bound: BoundCapability[] = []
  const tools = new Map<string, { readonly tool: Tool; readonly owner: string }>()
  try {
    for (const capability of capabilities) {
      assertNotAborted(context.signal, `binding capability ${capability.type}`)
      const binding = await capability.bind(context)
      bound.push(binding)
      for (const tool of binding.tools) addTool(tools, tool, capability.type)
    }
  } catch (error) {
    const failures = await disposeAll(bound)
    if (failures.length === 0) throw error
    throw new AggregateError(
      [error, ...failures],
      'capabilities could not be bound, nor everything ended that they started',
    )
  }
  return joinBindings(
    bound,
    [...tools.values()].map(({ tool }) => tool),
  )
}

/** Throws `capability_conflict` and `capability_missing`; binds nothing. */
function assertFitTogether(capabilities: readonly Capability[]): void {
  const types = new Set<string>()
  for (const { type } of capabilities) {
    if (types.has(type)) throw conflict(`capability '${type}' was given twice; give it once`, type, [type, type])
    types.add(type)
  }
  for (const { type, requires } of capabilities) {
    const missing = requires.filter((name) => !types.has(name))
    if (missing.length === 0) continue
    const names = missing.map((name) => `'${name}'`).join(', ')
    throw new SandboxError('capability_missing', `capability '${type}' needs ${names}; add what is missing`, {
      capability: type,
      missing,
    })
  }
}

function addTool(tools: Map<string, { tool: Tool; owner: string }>, tool: Tool, owner: string): void {
  const other = tools.get(tool.name)
  if (other !== undefined) {
    const message = `capabilities '${other.owner}' and '${owner}' both have a tool named '${tool.name}'; rename or remove one`
    throw conflict(message, tool.name, [other.owner, owner])
  }
  tools.set(tool.name, { tool, owner })
}

function conflict(message: string, name: string, capabilities: readonly string[]): SandboxError {
  return new SandboxError('capability_conflict', message, { name, capabilities })
}

function joinBindings(bound: readonly BoundCapability[], tools: readonly Tool[]): BoundCapability {
  const instructions = bound.flatMap(({ instructions: text }) =>
    text === null || text.trim() === '' ? [] : [text.trim()],
  )
  let disposed: Promise<void> | undefined
  return {
    tools,
    instructions: instructions.length === 0 ? null : instructions.join('\n\n'),
    sampling: bound.reduce<{ readonly [key: string]: JsonValue }>(
      (all, { sampling }) => mergeSampling(all, sampling),
      {},
    ),
    input: async (items) => {
      let rewritten = items
      for (const binding of bound) rewritten = await binding.input(rewritten)
      return rewritten
    },
    [Symbol.asyncDispose]: () => (disposed ??= disposeOrThrow(bound)),
  }
}

async function disposeOrThrow(bound: readonly BoundCapability[]): Promise<void> {
  const failures = await disposeAll(bound)
  if (failures.length > 0) throw new AggregateError(failures, 'not everything was ended that capabilities started')
}

async function disposeAll(bound: readonly BoundCapability[]): Promise<unknown[]> {
  const failures: unknown[] = []
  for (const binding of [...bound].reverse()) {
    try {
      await binding[Symbol.asyncDispose]()
    } catch (error) {
      failures.push(error)
    }
  }
  return failures
}
