/** How alike two lines must be, from strict to lax. A stricter match anywhere is better than a laxer one nearer. */
const LEVELS: ReadonlyArray<(line: string) => string> = [
  (line) => line,
  (line) => line.trimEnd(),
  (line) => line.trim(),
  (line) => plainPunctuation(line).trim(),
]

/** Typographic characters that models write for plain ones, and the other way round. */
function plainPunctuation(line: string): string {
  return line
    .replace(/[\u2010-\u2015\u2212]/g, '-')
    .replace(/[\u2018-\u201B]/g, "'")
    .replace(/[\u201C-\u201F]/g, '"')
    .replace(/[\u00A0\u2002-\u200A\u202F\u205F\u3000]/g, ' ')
    .replaceAll('\u2026', '...')
}

export interface MatchRange {
  /** First line that may match. */
  readonly from: number
  /** Match only at the end of the file. */
  readonly atEnd?: boolean
}

/** Finds lines in the lines of a file, in time linear in both. */
export class LineMatcher {
  readonly #lines: readonly string[]
  readonly #keys = new Map<number, readonly string[]>()

  constructor(lines: readonly string[]) {
    this.#lines = lines
  }

  /** Index of the first line of the best match, the first of equally good ones; undefined when there is none. */
  find(wanted: readonly string[], { from, atEnd = false }: MatchRange): number | undefined {
    const first = atEnd ? Math.max(from, this.#lines.length - wanted.length) : from
    for (let level = 0; level < LEVELS.length; level++) {
      const key = LEVELS[level]!
      const found = indexOfLines(this.#keysOf(level), wanted.map(key), first)
      if (found !== undefined) return found
    }
    return undefined
  }

  #keysOf(level: number): readonly string[] {
    let keys = this.#keys.get(level)
    if (keys === undefined) {
      keys = this.#lines.map(LEVELS[level]!)
      this.#keys.set(level, keys)
    }
    return keys
  }
}

/** Knuth, Morris, Pratt: a file of equal lines must not cost its length times that of the hunk. */
function indexOfLines(lines: readonly string[], wanted: readonly string[], from: number): number | undefined {
  if (wanted.length === 0) return from <= lines.length ? from : undefined
  const borders = bordersOf(wanted)
  let matched = 0
  for (let index = from; index < lines.length; index++) {
    while (matched > 0 && lines[index] !== wanted[matched]) matched = borders[matched - 1]!
    if (lines[index] === wanted[matched]) matched++
    if (matched === wanted.length) return index - matched + 1
  }
  return undefined
}

/** For each prefix, the length of its longest border: where to go on after a mismatch. */
function bordersOf(wanted: readonly string[]): number[] {
  const borders = [0]
  let length = 0
  for (let index = 1; index < wanted.length; index++) {
    while (length > 0 && wanted[index] !== wanted[length]) length = borders[length - 1]!
    if (wanted[index] === wanted[length]) length++
    borders.push(length)
  }
  return borders
}
