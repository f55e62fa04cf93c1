import { LineMatcher } from './line-matcher.js'
import { isProblem } from './patch.js'
import type { Hunk, PatchProblem } from './patch.js'
import { joinText, splitText } from './text-lines.js'
import type { TextLine } from './text-lines.js'

/** What became of a text, and how many lines came and went. */
export interface PatchedText {
  readonly text: string
  readonly added: number
  readonly removed: number
}

/**
 * Applies hunks to a text, in the order of the file. Context lines stay as the file has them, also where they matched only
 * laxly; line ends, byte order mark and the end of the last line stay too.
 *
 * An anchor is looked for from the end of the hunk before on; one that stands before that is taken as still in force.
 * Lines are looked for after the last anchor, then from its own line on. A hunk without context or removed lines is
 * inserted after its last anchor, or without one at the end.
 */
export function applyHunks(text: string, hunks: readonly Hunk[]): PatchedText | PatchProblem {
  const original = splitText(text)
  const matcher = new LineMatcher(original.lines.map((line) => line.text))
  const output: Array<{ text: string; end: string | null }> = []
  let copied = 0
  for (const hunk of hunks) {
    const start = locate(hunk, matcher, { from: copied, lines: original.lines })
    if (isProblem(start)) return start
    while (copied < start.at) output.push(original.lines[copied++]!)
    for (const { mark, text: line } of hunk.lines) {
      if (mark === '+') output.push({ text: line, end: null })
      else if (mark === ' ') output.push(original.lines[copied++]!)
      else copied++
    }
  }
  for (const line of original.lines.slice(copied)) output.push(line)
  const count = (mark: string): number =>
    hunks.flatMap(({ lines }) => lines).filter((line) => line.mark === mark).length
  return { text: joinText(output, original), added: count('+'), removed: count('-') }
}

interface Place {
  /** First line that no hunk has used. */
  readonly from: number
  readonly lines: readonly TextLine[]
}

function locate(hunk: Hunk, matcher: LineMatcher, place: Place): { readonly at: number } | PatchProblem {
  const anchor = locateAnchors(hunk, matcher, place)
  if (isProblem(anchor)) return anchor
  const wanted = hunk.lines.flatMap(({ mark, text }) => (mark === '+' ? [] : [text]))
  if (wanted.length === 0) return locateInsertion(hunk, anchor, place)
  const at =
    matcher.find(wanted, { from: anchor.after, atEnd: hunk.endOfFile }) ??
    // The anchor itself is often repeated as the first line of context.
    (anchor.line === null ? undefined : matcher.find(wanted, { from: anchor.line, atEnd: hunk.endOfFile }))
  return at === undefined ? { line: hunk.line, problem: explain(hunk, wanted, { matcher, ...place }) } : { at }
}

function locateInsertion(hunk: Hunk, anchor: AnchorPlace, place: Place): { readonly at: number } | PatchProblem {
  if (hunk.endOfFile || hunk.anchors.length === 0) return { at: place.lines.length }
  if (anchor.line !== null) return { at: anchor.after }
  return { line: hunk.line, problem: 'the anchor stands before the hunk above; put hunks in the order of the file' }
}

interface AnchorPlace {
  /** Line of the last anchor; null without one, or when it stands before what was used. */
  readonly line: number | null
  /** Where to look from. */
  readonly after: number
}

function locateAnchors(hunk: Hunk, matcher: LineMatcher, place: Place): AnchorPlace | PatchProblem {
  let found: AnchorPlace = { line: null, after: place.from }
  for (const anchor of hunk.anchors) {
    const line = matcher.find([anchor], { from: found.after })
    if (line !== undefined) found = { line, after: line + 1 }
    else if (found.line !== null || !standsBefore(anchor, matcher, place.from)) {
      const where = found.line === null ? '' : ` after line ${found.line + 1} of the file`
      return { line: hunk.line, problem: `the anchor ${quote(anchor)} is not in the file${where}` }
    }
  }
  return found
}

function standsBefore(anchor: string, matcher: LineMatcher, from: number): boolean {
  const line = matcher.find([anchor], { from: 0 })
  return line !== undefined && line < from
}

function explain(hunk: Hunk, wanted: readonly string[], place: Place & { readonly matcher: LineMatcher }): string {
  const { matcher, from, lines } = place
  const first = `the lines from ${quote(wanted.find((line) => line.trim() !== '') ?? '')} on`
  const earlier = matcher.find(wanted, { from: 0 })
  if (earlier === undefined) {
    const near = nearest(wanted, matcher)
    return `${first} are not in the file${near}; read it again and copy its lines as they are`
  }
  if (hunk.endOfFile) return `${first} are at line ${earlier + 1} of the file, not at its end (line ${lines.length})`
  if (earlier < from)
    return `${first} are at line ${earlier + 1} of the file, before the hunk above; put hunks in order`
  return `${first} are at line ${earlier + 1} of the file, before the anchor`
}

/** How far the lines agree, where they agree best: tells a model which line it got wrong. */
function nearest(wanted: readonly string[], matcher: LineMatcher): string {
  let [low, high] = [0, wanted.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (matcher.find(wanted.slice(0, middle), { from: 0 }) === undefined) high = middle - 1
    else low = middle
  }
  const at = low === 0 ? undefined : matcher.find(wanted.slice(0, low), { from: 0 })
  if (at === undefined) return ''
  return ` (${low} of ${wanted.length} agree at line ${at + 1}; the next, ${quote(wanted[low] ?? '')}, does not)`
}

function quote(line: string): string {
  return JSON.stringify(line.length > 120 ? `${line.slice(0, 117)}...` : line)
}
