import { posix } from 'node:path'
import type { SandboxSession } from '@cofferdam/core'
import { parseWorkspacePath } from '@cofferdam/core/path'
import type { PathScope } from '@cofferdam/core/path'
import type { ApprovalRule, ToolEffects } from '@cofferdam/core/plugin'
import type { AnswerOptions } from '../answer.js'

/** What a rule is asked about. */
export interface FileAccess {
  /** Name of the tool. */
  readonly tool: string
  /**
   * Relative to the workspace, or absolute outside it, with `.` and `..` resolved as text. They are names, not places: a
   * link on the way may lead to another place that the session may reach.
   */
  readonly paths: readonly string[]
}

/** Whether a person is asked before files are read or written. */
export type FileApproval = 'never' | 'ask' | ((access: FileAccess) => 'never' | 'ask' | 'deny')

/** What every tool of the capability is made with. */
export interface FileToolContext {
  readonly session: SandboxSession
  readonly scope: PathScope
  readonly answers: AnswerOptions
  readonly approval: { readonly read: FileApproval; readonly write: FileApproval }
}

/** The rule of one tool, whose input names the paths that it reaches. */
export function approveFiles<I>(
  context: FileToolContext,
  tool: { readonly name: string; readonly effects: ToolEffects },
  pathsOf: (input: I) => readonly string[],
): ApprovalRule<I> {
  const rule = tool.effects === 'read' ? context.approval.read : context.approval.write
  if (typeof rule !== 'function') return rule
  return (input) => rule({ tool: tool.name, paths: pathsOf(input).map((path) => canonicalPath(path, context.scope)) })
}

/** One name for each path, however it was written. What the session will refuse stays as it is. */
export function canonicalPath(path: string, scope: PathScope): string {
  let absolute: string
  try {
    absolute = posix.normalize(parseWorkspacePath(path, scope))
  } catch {
    return path
  }
  if (absolute === scope.workspaceRoot) return '.'
  return absolute.startsWith(`${scope.workspaceRoot}/`) ? absolute.slice(scope.workspaceRoot.length + 1) : absolute
}
