import type { ZodType } from 'zod'
import type { JsonValue } from '../errors/error-details.js'

/** What calling a tool does at most. */
export type ToolEffects = 'read' | 'write' | 'execute'

/** Whether a person is asked first. */
export type ToolApproval = 'never' | 'ask'

/** What a tool may know of the call. */
export interface ToolContext {
  readonly signal?: AbortSignal
  /** The approval of this very input, when one was asked for and given. */
  readonly approved?: boolean
}

/** A part of what a tool gives back to a model. */
export type ToolContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly mediaType: string; readonly bytes: Uint8Array }

/**
 * What a model sees of a call. `content` is bounded and redacted; `data` is the same in a shape for programs. A failure
 * that the model can act on (no such file, a hunk that does not apply, exit code 1) has `ok: false`; only what the model
 * cannot mend (a lost lease, a lost connection) is thrown.
 */
export interface ToolResult {
  readonly ok: boolean
  readonly content: readonly ToolContent[]
  readonly data: JsonValue
}

/**
 * One function for a model, bound to one session. Framework-neutral: adapters turn it into theirs.
 *
 * `execute` parses its input by `parameters` itself (`tool_input_invalid` otherwise), so that it can be called with what
 * a model wrote. It is bounded in time and output.
 */
export interface Tool<I = unknown> {
  /** `[a-z][a-z0-9_]{0,63}`, unique in a run. */
  readonly name: string
  /** For the model. */
  readonly description: string
  readonly parameters: ZodType<I>
  /** `parameters` as JSON Schema (draft 2020-12). */
  readonly jsonSchema: { readonly [key: string]: JsonValue }
  readonly effects: ToolEffects
  /** Throws `tool_input_invalid` for what `parameters` refuses. */
  approvalFor(input: unknown): 'never' | 'ask' | 'deny'
  /** Throws `tool_input_invalid`, `approval_required`, `approval_denied`, and what no model can mend. */
  execute(input: unknown, context?: ToolContext): Promise<ToolResult>
}
