/** A text cut into lines so that joining them again gives it back to the byte, whatever its line ends. */
export interface TextLines {
  readonly byteOrderMark: string
  readonly lines: readonly TextLine[]
}

export interface TextLine {
  readonly text: string
  /** `\n`, `\r\n`, or nothing for a last line without an end. */
  readonly end: string
}

const BYTE_ORDER_MARK = '\uFEFF'

export function splitText(text: string): TextLines {
  const byteOrderMark = text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : ''
  const lines: TextLine[] = []
  let start = byteOrderMark.length
  while (start < text.length) {
    const feed = text.indexOf('\n', start)
    const stop = feed === -1 ? text.length : feed
    const returned = feed > start && text[feed - 1] === '\r'
    lines.push({
      text: text.slice(start, returned ? stop - 1 : stop),
      end: feed === -1 ? '' : returned ? '\r\n' : '\n',
    })
    start = stop + 1
  }
  return { byteOrderMark, lines }
}

/**
 * The text of `lines`, which are those of `original` with some replaced. A new line (its end is null) ends like most lines
 * of the original, and the text as a whole ends with a line end exactly when the original did.
 */
export function joinText(lines: ReadonlyArray<{ text: string; end: string | null }>, original: TextLines): string {
  const usual = usualEnd(original.lines)
  const last = original.lines.at(-1)
  const final = last === undefined ? usual : last.end === '' ? '' : null
  const parts = lines.map(({ text, end }, index) => {
    if (index < lines.length - 1) return text + (end === null || end === '' ? usual : end)
    return text + (final ?? (end === null || end === '' ? usual : end))
  })
  return original.byteOrderMark + parts.join('')
}

function usualEnd(lines: readonly TextLine[]): string {
  const returns = lines.filter(({ end }) => end === '\r\n').length
  const feeds = lines.filter(({ end }) => end === '\n').length
  return returns > feeds ? '\r\n' : '\n'
}
