import type { TextEdit } from '../contracts/session.js'
import { SandboxError } from '../errors/sandbox-error.js'

/**
 * Replaces text. The text to find may be written with `\n` line ends whatever the file has; the replacement takes the
 * file's. Throws `invalid_argument` that says how often the text occurs, unless once (or, with `replaceAll`, at all).
 */
export function applyTextEdit(
  content: string,
  edit: TextEdit,
): { readonly content: string; readonly replacements: number } {
  const { oldText, newText, replaceAll = false } = edit
  if (oldText === '') throw unusable('oldText is empty; use write or append instead')
  if (oldText === newText) throw unusable('oldText and newText are equal')
  const [wanted, replacement] = inLineEndsOf(content, oldText, newText)
  const parts = content.split(wanted)
  const count = parts.length - 1
  if (count === 0) throw unusable('oldText does not occur in the file; read it again and copy the text exactly')
  if (count > 1 && !replaceAll) {
    throw unusable(`oldText occurs ${count} times; give more of the text around it, or set replaceAll`)
  }
  return { content: parts.join(replacement), replacements: count }
}

function inLineEndsOf(content: string, oldText: string, newText: string): [string, string] {
  if (content.includes(oldText) || !content.includes('\r\n')) return [oldText, newText]
  const crlf = (text: string): string => text.replaceAll('\r\n', '\n').replaceAll('\n', '\r\n')
  return [crlf(oldText), crlf(newText)]
}

function unusable(reason: string): SandboxError<'invalid_argument'> {
  return new SandboxError('invalid_argument', `edit: ${reason}`, { argument: 'oldText', reason })
}
