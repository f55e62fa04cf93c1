/** A text that fits, and how much of it was left out. */
export interface BoundText {
  readonly text: string
  /** 0 when nothing was left out. */
  readonly omittedBytes: number
}

/** Room for the line that says what is missing. */
const NOTE_BYTES = 80

/**
 * Keeps the beginning and the end of a text so that it takes no more than `maxBytes` as UTF-8, with a line between that says
 * how much is missing. Cuts at line ends where one is near, and never within a character.
 */
export function boundText(text: string, maxBytes: number): BoundText {
  const bytes = Buffer.from(text, 'utf8')
  if (bytes.length <= maxBytes) return { text, omittedBytes: 0 }
  const room = maxBytes - NOTE_BYTES
  if (room < NOTE_BYTES) {
    const end = characterStart(bytes, maxBytes)
    return { text: bytes.toString('utf8', 0, end), omittedBytes: bytes.length - end }
  }
  const headEnd = lineBefore(bytes, Math.ceil(room / 2))
  const tailStart = lineAfter(bytes, bytes.length - Math.floor(room / 2))
  const omitted = bytes.subarray(headEnd, tailStart)
  const head = bytes.toString('utf8', 0, headEnd)
  const note = `[… ${omitted.length} bytes, ${countLines(omitted)} lines left out …]`
  const joint = head.endsWith('\n') || head === '' ? '' : '\n'
  return { text: `${head}${joint}${note}\n${bytes.toString('utf8', tailStart)}`, omittedBytes: omitted.length }
}

/** How far back, or ahead, a line end is looked for. */
const NEAR_BYTES = 512

function lineBefore(bytes: Buffer, at: number): number {
  const feed = bytes.lastIndexOf(0x0a, at - 1)
  return feed !== -1 && at - feed <= Math.min(NEAR_BYTES, at / 2) ? feed + 1 : characterStart(bytes, at)
}

function lineAfter(bytes: Buffer, at: number): number {
  const feed = bytes.indexOf(0x0a, at)
  const near = Math.min(NEAR_BYTES, (bytes.length - at) / 2)
  return feed !== -1 && feed - at <= near ? feed + 1 : characterEnd(bytes, at)
}

function characterStart(bytes: Buffer, at: number): number {
  let start = at
  while (start > 0 && isContinuation(bytes[start])) start--
  return start
}

function characterEnd(bytes: Buffer, at: number): number {
  let end = at
  while (isContinuation(bytes[end])) end++
  return end
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}

function countLines(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, at + 1)) count++
  return count
}

/** The first `maxCharacters` UTF-16 units of a text, without half a character at the end. */
export function cutCharacters(text: string, maxCharacters: number): string {
  const cut = text.slice(0, maxCharacters)
  return /[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut
}
