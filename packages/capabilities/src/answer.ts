import { isSandboxError } from '@cofferdam/core/plugin'
import type { JsonValue, SandboxErrorCode, ToolContent, ToolResult } from '@cofferdam/core/plugin'
import { boundText } from './bound-text.js'

type JsonObject = { readonly [key: string]: JsonValue }

/** What a tool has to say, before secrets are masked and the text is bounded. */
export interface Answer {
  readonly ok: boolean
  readonly text: string
  /** The same for programs. What is long in it must be bounded already. */
  readonly data: JsonObject
  /** Given after the text, as they are. */
  readonly images?: readonly Extract<ToolContent, { type: 'image' }>[]
}

export interface AnswerOptions {
  /** Masks secrets: `session.redact`. */
  readonly redact: (text: string) => string
  readonly maxOutputBytes: number
}

/** What a model can do something about: another path, another command, less at once. The rest is thrown to the caller. */
const MENDABLE: ReadonlySet<SandboxErrorCode> = new Set<SandboxErrorCode>([
  'invalid_argument',
  'path_escape',
  'path_denied',
  'read_only',
  'not_found',
  'already_exists',
  'not_a_directory',
  'is_a_directory',
  'no_space',
  'exec_not_started',
  'quota_exceeded',
  'timeout',
  'unsupported_feature',
])

/** Runs a tool: masks and bounds what it says, and makes an answer of a failure that a model can act on. */
export async function answer(options: AnswerOptions, run: () => Promise<Answer>): Promise<ToolResult> {
  let said: Answer
  try {
    said = await run()
  } catch (error) {
    const mendable = failureOf(error)
    if (mendable === undefined) throw error
    said = mendable
  }
  // Masked before it is cut: half a secret would not be known any more.
  const text = boundText(options.redact(said.text), options.maxOutputBytes).text
  return {
    ok: said.ok,
    content: [{ type: 'text', text }, ...(said.images ?? [])],
    data: redactJson(said.data, options.redact),
  }
}

/** An answer that says what went wrong, with a stable code in its data. */
export function failure(code: string, message: string, details: JsonObject = {}): Answer {
  return { ok: false, text: `Failed (${code}): ${message}`, data: { ...details, code, message } }
}

/** The answer that stands for an error which a model can mend; undefined for any other. */
export function failureOf(error: unknown): Answer | undefined {
  if (!isSandboxError(error) || !MENDABLE.has(error.code)) return undefined
  return failure(error.code, error.message, error.details as unknown as JsonObject)
}

function redactJson(value: JsonValue, redact: (text: string) => string): JsonValue {
  if (typeof value === 'string') return redact(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item: JsonValue) => redactJson(item, redact))
  const members = Object.entries(value).map(
    ([key, member]) => [redact(key), redactJson(member as JsonValue, redact)] as const,
  )
  return Object.fromEntries(members)
}
