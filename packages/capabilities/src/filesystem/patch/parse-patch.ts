import { isProblem } from './patch.js'
import type { AddFile, DeleteFile, Hunk, HunkLine, PatchProblem, PatchSection, UpdateFile } from './patch.js'

/** Each may have to be looked for in the whole of its file. */
const MAX_HUNKS = 1_000
const BEGIN = '*** Begin Patch'
const END = '*** End Patch'
const ADD = '*** Add File:'
const DELETE = '*** Delete File:'
const UPDATE = '*** Update File:'
const MOVE = '*** Move to:'
const END_OF_FILE = '*** End of File'

/** Reads a patch strictly: what is not plainly a part of it is a problem with its line, and never guessed at. */
export function parsePatch(text: string): readonly PatchSection[] | PatchProblem {
  const reader = new PatchReader(text)
  const opened = reader.open()
  if (opened !== undefined) return opened
  const sections: PatchSection[] = []
  let hunks = 0
  while (!reader.at(END)) {
    const section = readSection(reader)
    if (isProblem(section)) return section
    sections.push(section)
    if (section.kind === 'update')
      hunks += section.hunks.reduce((count, { anchors }) => count + Math.max(anchors.length, 1), 0)
    if (hunks > MAX_HUNKS)
      return reader.problem(`there are more than ${MAX_HUNKS} hunks and anchors; make several patches of it`)
  }
  if (sections.length === 0) return reader.problem('the patch has no sections; add, update or delete at least one file')
  return reader.close() ?? sections
}

/** The lines of a patch, and where the parser is. */
class PatchReader {
  readonly #lines: readonly string[]
  #at = 0

  constructor(text: string) {
    const lines = text.split('\n')
    // A patch that came with CRLF throughout has them from its way here. Otherwise a CR belongs to the line it is in.
    const first = lines.find((line) => line.trim() !== '')
    this.#lines = first?.endsWith('\r') === true ? lines.map((line) => line.replace(/\r$/, '')) : lines
  }

  get line(): number {
    return this.#at + 1
  }

  /** undefined at the end of the text. */
  peek(): string | undefined {
    return this.#lines[this.#at]
  }

  skip(): void {
    this.#at++
  }

  at(marker: string): boolean {
    return this.peek()?.trimEnd() === marker
  }

  /** True where a section or the patch ends: no line of a file can begin like this, having a mark before it. */
  atMarker(): boolean {
    const line = this.peek()
    return line === undefined || line.startsWith('***')
  }

  /** What follows the marker on this line; undefined when the line is another one. */
  after(marker: string): string | undefined {
    const line = this.peek()
    return line?.startsWith(marker) === true ? line.slice(marker.length).trim() : undefined
  }

  problem(problem: string, line: number = this.line): PatchProblem {
    return { line, problem }
  }

  open(): PatchProblem | undefined {
    this.#skipBlank()
    if (!this.at(BEGIN)) {
      return this.problem(`expected '${BEGIN}' as the first line`, Math.min(this.line, this.#lines.length))
    }
    this.skip()
    return undefined
  }

  close(): PatchProblem | undefined {
    this.skip()
    this.#skipBlank()
    return this.peek() === undefined ? undefined : this.problem(`nothing may follow '${END}'`)
  }

  #skipBlank(): void {
    while (this.peek()?.trim() === '') this.skip()
  }
}

function readSection(reader: PatchReader): PatchSection | PatchProblem {
  const line = reader.line
  for (const [marker, read] of SECTIONS) {
    const path = reader.after(marker)
    if (path === undefined) continue
    if (path === '') return reader.problem(`a path must follow '${marker}'`)
    reader.skip()
    return read(reader, path, line)
  }
  if (reader.peek() === undefined) return reader.problem(`expected '${END}' as the last line`)
  if (reader.after(MOVE) !== undefined) return reader.problem(`'${MOVE}' must directly follow '${UPDATE} …'`)
  return reader.problem(`expected '${ADD} …', '${UPDATE} …', '${DELETE} …' or '${END}'`)
}

type SectionReader = (reader: PatchReader, path: string, line: number) => PatchSection | PatchProblem

const SECTIONS: ReadonlyArray<readonly [string, SectionReader]> = [
  [ADD, readAdd],
  [DELETE, readDelete],
  [UPDATE, readUpdate],
]

function readAdd(reader: PatchReader, path: string, line: number): AddFile | PatchProblem {
  const lines: string[] = []
  for (; !reader.atMarker(); reader.skip()) {
    const text = reader.peek() ?? ''
    if (!text.startsWith('+')) return reader.problem("every line of a file that is added must begin with '+'")
    lines.push(text.slice(1))
  }
  return { kind: 'add', path, line, text: lines.map((text) => `${text}\n`).join('') }
}

function readDelete(reader: PatchReader, path: string, line: number): DeleteFile | PatchProblem {
  return reader.atMarker()
    ? { kind: 'delete', path, line }
    : reader.problem(`nothing may follow '${DELETE} …' but the next section`)
}

function readUpdate(reader: PatchReader, path: string, line: number): UpdateFile | PatchProblem {
  const moveTo = reader.after(MOVE) ?? null
  if (moveTo === '') return reader.problem(`a path must follow '${MOVE}'`)
  if (moveTo !== null) reader.skip()
  const hunks: Hunk[] = []
  while (!reader.atMarker()) {
    const hunk = readHunk(reader, hunks.length === 0)
    if (isProblem(hunk)) return hunk
    hunks.push(hunk)
  }
  if (hunks.length === 0 && moveTo === null) return reader.problem(`'${UPDATE} ${path}' changes nothing`, line)
  return { kind: 'update', path, line, moveTo, hunks }
}

function readHunk(reader: PatchReader, first: boolean): Hunk | PatchProblem {
  const line = reader.line
  const anchors = readAnchors(reader, first)
  if (isProblem(anchors)) return anchors
  const lines = readHunkLines(reader)
  if (isProblem(lines)) return lines
  const endOfFile = reader.at(END_OF_FILE)
  if (endOfFile) reader.skip()
  if (!lines.some(({ mark }) => mark !== ' ')) return reader.problem("the hunk has no line with '+' or '-'", line)
  return { line, anchors, lines, endOfFile }
}

function readAnchors(reader: PatchReader, mayBeMissing: boolean): readonly string[] | PatchProblem {
  const anchors: string[] = []
  let marked = mayBeMissing
  for (; reader.peek()?.startsWith('@@') === true; reader.skip()) {
    marked = true
    const text = reader.peek()?.slice(2).replace(/\r$/, '') ?? ''
    if (/^ -\d+(,\d+)? \+\d+(,\d+)? @@/.test(text)) {
      return reader.problem("line numbers are not used here: write '@@' alone, or '@@ ' and a line of the file")
    }
    if (text !== '' && !text.startsWith(' ')) return reader.problem("a space must follow '@@'")
    if (text.trim() !== '') anchors.push(text.slice(1))
  }
  return marked ? anchors : reader.problem("expected '@@' before the next hunk, or the next section")
}

function readHunkLines(reader: PatchReader): readonly HunkLine[] | PatchProblem {
  const lines: HunkLine[] = []
  let blank = 0
  for (; !reader.atMarker() && reader.peek()?.startsWith('@@') !== true; reader.skip()) {
    const text = (reader.peek() ?? '').replace(/\r$/, '')
    const mark = text[0]
    if (mark === undefined) {
      // A blank context line whose space got lost, unless it only stands before what comes next.
      blank++
      continue
    }
    if (mark !== ' ' && mark !== '-' && mark !== '+') {
      return reader.problem("a line of a hunk must begin with ' ' (context), '-' (removed) or '+' (added)")
    }
    for (; blank > 0; blank--) lines.push({ mark: ' ', text: '' })
    lines.push({ mark, text: text.slice(1) })
  }
  return lines
}
