import { z } from 'zod'
import type { ZodType } from 'zod'
import type { Tool, ToolContext, ToolEffects, ToolResult } from '../contracts/tool.js'
import type { JsonValue } from '../errors/error-details.js'
import { assertNotAborted } from '../errors/assert-not-aborted.js'
import { SandboxError } from '../errors/sandbox-error.js'
import { describeToolInput } from './describe-tool-input.js'

/** Whether a person is asked before a call, or the call refused; a function decides on the parsed input. */
export type ApprovalRule<I> = 'never' | 'ask' | ((input: I) => 'never' | 'ask' | 'deny')

/** What the author of a tool says. */
export interface ToolDefinition<I> {
  /** `[a-z][a-z0-9_]{0,63}`. */
  readonly name: string
  /** For the model. */
  readonly description: string
  /** An object schema. What it describes must be sayable in JSON Schema. */
  readonly parameters: ZodType<I>
  readonly effects: ToolEffects
  readonly approval: ApprovalRule<I>
  /**
   * Gets the parsed input of an approved call. A failure that the model can mend is returned with `ok: false`; only what it
   * cannot mend is thrown.
   */
  execute(input: I, context: ToolContext): Promise<ToolResult>
}

/**
 * Makes a {@link Tool} of a definition: writes the JSON Schema, parses what a model wrote, and holds the approval, so that
 * no author has to.
 *
 * @throws TypeError when the name is not acceptable or the parameters are not an object or not sayable in JSON Schema
 */
export function defineTool<I>(definition: ToolDefinition<I>): Tool<I> {
  const { name, description, parameters, effects, approval } = definition
  if (!/^[a-z][a-z0-9_]{0,63}$/.test(name)) {
    throw new TypeError(`a tool's name must match [a-z][a-z0-9_]{0,63}, not ${JSON.stringify(name)}`)
  }
  const jsonSchema = describeParameters(name, parameters)
  const approvalFor = (input: I): 'never' | 'ask' | 'deny' =>
    typeof approval === 'function' ? approval(input) : approval
  const parse = (input: unknown): I => parseInput(name, parameters, input)
  return {
    name,
    description,
    parameters,
    jsonSchema,
    effects,
    approvalFor: (input) => approvalFor(parse(input)),
    execute: async (input, context = {}) => {
      const parsed = parse(input)
      assertApproved(name, approvalFor(parsed), context)
      assertNotAborted(context.signal, `tool ${name}`)
      return definition.execute(parsed, context)
    },
  }
}

/** `io: 'input'`: a parameter with a default is one that the model may leave out. */
function describeParameters(name: string, parameters: ZodType): { readonly [key: string]: JsonValue } {
  let schema: Record<string, unknown>
  try {
    schema = z.toJSONSchema(parameters, { io: 'input', target: 'draft-2020-12' }) as Record<string, unknown>
  } catch (error) {
    throw new TypeError(`the parameters of tool '${name}' cannot be said in JSON Schema`, { cause: error })
  }
  if (schema.type !== 'object') throw new TypeError(`the parameters of tool '${name}' must be an object schema`)
  // Through text, so that what zod adds for itself (it marks its output as its own) stays behind.
  return JSON.parse(JSON.stringify(schema)) as { readonly [key: string]: JsonValue }
}

function parseInput<I>(tool: string, parameters: ZodType<I>, input: unknown): I {
  const result = parameters.safeParse(input)
  if (result.success) return result.data
  const problems = describeToolInput(result.error.issues, { input, parameters })
  throw new SandboxError(
    'tool_input_invalid',
    `the input of tool '${tool}' does not fit its parameters:\n  ${problems.join('\n  ')}`,
    { tool, problems },
  )
}

function assertApproved(tool: string, decision: 'never' | 'ask' | 'deny', context: ToolContext): void {
  if (decision === 'deny') {
    const reason = 'the rules of this application refuse this call'
    throw new SandboxError('approval_denied', `tool '${tool}' was not run: ${reason}`, { tool, reason })
  }
  if (decision === 'ask' && context.approved !== true) {
    throw new SandboxError(
      'approval_required',
      `tool '${tool}' was not run: ask for approval, then call it again with it`,
      {
        tool,
      },
    )
  }
}
