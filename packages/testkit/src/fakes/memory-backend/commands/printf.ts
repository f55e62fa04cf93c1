import { encodePath } from '@cofferdam/core/path'
import type { Program } from '../process/memory-process.js'
import { fail } from './program.js'

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\x07',
  b: '\b',
  f: '\f',
  v: '\v',
  '\\': '\\',
  '"': '"',
}
const DIRECTIVE = /%([-0 +#]*)(\d*)(?:\.(\d+))?([sdiuxXocb%])|\\([0-7]{1,3}|.)|[^%\\]+|[^]/gs

/** The format is used again as long as there are arguments. */
export const printf: Program = async (process, [format, ...args]) => {
  if (format === undefined) return fail(process, 'printf: usage: printf format [arguments]', 2)
  const left = [...args]
  let status = 0
  let text = ''
  do {
    const before = left.length
    for (const match of format.matchAll(DIRECTIVE)) {
      if (match[5] !== undefined) text += escapeText(match[5])
      else if (match[4] === '%') text += '%'
      else if (match[4] === undefined) text += match[0]
      else {
        const argument = left.shift()
        if ('diuxXo'.includes(match[4]) && argument !== undefined && Number.isNaN(Number(argument))) {
          status = await fail(process, `printf: ${argument}: expected numeric value`)
        }
        text += formatted(match, argument)
      }
    }
    if (left.length === before) break
  } while (left.length > 0)
  await process.write(1, encodePath(text))
  return status
}

function formatted(match: RegExpExecArray, argument: string | undefined): string {
  const [, flags = '', width = '', precision, kind] = match
  let text = convert(kind!, argument ?? '')
  if (kind === 's' && precision !== undefined) text = text.slice(0, Number(precision))
  const size = Number(width)
  if (flags.includes('-')) return text.padEnd(size)
  return flags.includes('0') && kind !== 's' ? text.padStart(size, '0') : text.padStart(size)
}

function convert(kind: string, argument: string): string {
  if (kind === 's') return argument
  if (kind === 'c') return argument.slice(0, 1)
  if (kind === 'b') return argument.replace(/\\(0?[0-7]{1,3}|.)/gs, (_whole, body: string) => escapeText(body))
  const value = Math.trunc(Number(argument) || 0)
  if (kind === 'o') return value.toString(8)
  if (kind === 'x') return value.toString(16)
  return kind === 'X' ? value.toString(16).toUpperCase() : String(value)
}

/** A byte above 0x7f is written as the surrogate that stands for it. */
function escapeText(body: string): string {
  if (/^[0-7]/.test(body)) {
    const byte = parseInt(body, 8) & 0xff
    return String.fromCharCode(byte < 0x80 ? byte : 0xdc00 + byte)
  }
  return ESCAPES[body] ?? `\\${body}`
}
