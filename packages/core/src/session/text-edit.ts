import type { TextEdit } from '../contracts/session.js'
import { SandboxError } from '../errors/sandbox-error.js'

/** Of what an edit makes. */
const MAX_CHARACTERS = 64 * 1024 * 1024

/**
 * Replaces text. The text to find may be written with other line ends than the file has; the replacement takes the file's.
 * Throws `invalid_argument` that says how often the text occurs, unless once (or, with `replaceAll`, at all).
 */
export function applyTextEdit(
  content: string,
  edit: TextEdit,
): { readonly content: string; readonly replacements: number } {
  const { oldText, newText, replaceAll = false } = edit
  if (oldText === '') throw unusable('oldText is empty; use write or append instead')
  if (oldText === newText) throw unusable('oldText and newText are equal')
  const [wanted, replacement] = inLineEndsOf(content, oldText, newText)
  const places = placesOf(content, wanted)
  if (places.length === 0) throw unusable('oldText does not occur in the file; read it again and copy the text exactly')
  if (places.length > 1 && !replaceAll) {
    throw unusable(`oldText occurs ${places.length} times; give more of the text around it, or set replaceAll`)
  }
  const parts = content.split(wanted)
  const length = content.length + (parts.length - 1) * (replacement.length - wanted.length)
  if (length > MAX_CHARACTERS) throw unusable(`the file would be longer than ${MAX_CHARACTERS} characters`)
  return { content: parts.join(replacement), replacements: parts.length - 1 }
}

/** Where the text occurs, also where that overlaps: which of these is meant cannot be told. */
function placesOf(content: string, wanted: string): readonly number[] {
  const places: number[] = []
  for (let at = content.indexOf(wanted); at !== -1; at = content.indexOf(wanted, at + 1)) places.push(at)
  return places
}

/** A file that has both kinds of line ends is first taken by its word. */
function inLineEndsOf(content: string, oldText: string, newText: string): readonly [string, string] {
  const crlf = content.includes('\r\n')
  const mixed = crlf && /(^|[^\r])\n/.test(content)
  if (mixed && content.includes(oldText)) return [oldText, newText]
  const convert = (text: string): string => {
    const plain = text.replaceAll('\r\n', '\n')
    return crlf ? plain.replaceAll('\n', '\r\n') : plain
  }
  // A file without any line end has none to give.
  return content.includes('\n') ? [convert(oldText), convert(newText)] : [oldText, newText]
}

function unusable(reason: string): SandboxError<'invalid_argument'> {
  return new SandboxError('invalid_argument', `edit: ${reason}`, { argument: 'oldText', reason })
}
