import { createHash } from 'node:crypto'
import { encodePath } from '@cofferdam/core/path'
import type { MemoryProcess, Program } from '../process/memory-process.js'
import { openFile } from '../shell/redirect.js'
import {
  fail,
  forEachPath,
  inputChunks,
  parseFlags,
  placeOf,
  print,
  readAll,
  readLines,
  toByteText,
} from './program.js'

const echo: Program = async (process, args) => {
  const plain = args[0] === '-n'
  await print(process, `${(plain ? args.slice(1) : args).join(' ')}${plain ? '' : '\n'}`)
  return 0
}

const cat: Program = (process, args) =>
  forEachPath(process, 'cat', args.length === 0 ? ['-'] : args, async (path) => {
    for await (const chunk of inputChunks(process, [path])) await process.write(1, chunk)
  })

/** `-n 5`, `-5`, `-c 100`, and which files. */
function parseCount(args: readonly string[]): {
  readonly count: number
  readonly bytes: boolean
  readonly paths: readonly string[]
} {
  const [first = '', second = ''] = args
  if (first === '-n' || first === '-c')
    return { count: parseInt(second, 10), bytes: first === '-c', paths: args.slice(2) }
  const match = /^-([nc]?)(\d+)$/.exec(first)
  if (match !== null) return { count: Number(match[2]), bytes: match[1] === 'c', paths: args.slice(1) }
  return { count: 10, bytes: false, paths: args }
}

/** Stops as soon as it has enough, so that an endless writer ends by its broken pipe. */
const head: Program = (process, args) => {
  const { bytes, paths, count } = parseCount(args)
  return forEachPath(process, 'head', paths.length === 0 ? ['-'] : paths, async (path) => {
    let left = count
    if (left <= 0) return
    for await (const chunk of inputChunks(process, [path])) {
      const length = bytes ? Math.min(left, chunk.length) : lengthOfLines(chunk, left)
      await process.write(1, chunk.subarray(0, length))
      left -= bytes ? length : countLines(chunk.subarray(0, length))
      if (left <= 0) return
    }
  })
}

const tail: Program = async (process, args) => {
  const { bytes, paths, count } = parseCount(args)
  const all = await readAll(process, paths)
  let from = bytes ? Math.max(0, all.length - count) : all.length
  if (!bytes) {
    for (let left = count; left > 0 && from > 0; left--) from = all.lastIndexOf(10, Math.max(0, from - 2)) + 1
  }
  await process.write(1, all.subarray(from))
  return 0
}

const wc: Program = async (process, args) => {
  const { flags, rest, bad } = parseFlags(args, 'lwc')
  if (bad !== undefined) return fail(process, `wc: unknown option -- ${bad}`)
  const total = { l: 0, w: 0, c: 0 }
  for await (const chunk of inputChunks(process, rest)) {
    total.l += countLines(chunk)
    total.c += chunk.length
    if (flags.size === 0 || flags.has('w')) {
      total.w += Buffer.from(chunk)
        .toString('latin1')
        .split(/\s+/)
        .filter((word) => word !== '').length
    }
  }
  const shown = (['l', 'w', 'c'] as const).filter((letter) => flags.size === 0 || flags.has(letter))
  await print(process, `${shown.map((letter) => total[letter]).join(' ')}${rest.length === 1 ? ` ${rest[0]}` : ''}\n`)
  return 0
}

const sort: Program = async (process, args) => {
  const { flags, rest, bad } = parseFlags(args, 'nru')
  if (bad !== undefined) return fail(process, `sort: unknown option -- ${bad}`)
  let lines = (await readLines(process, rest)).sort()
  if (flags.has('n')) lines.sort((a, b) => (parseFloat(a) || 0) - (parseFloat(b) || 0))
  if (flags.has('u')) lines = lines.filter((line, index) => index === 0 || line !== lines[index - 1])
  if (flags.has('r')) lines.reverse()
  await process.write(1, Buffer.from(lines.map((line) => `${line}\n`).join(''), 'latin1'))
  return 0
}

const tr: Program = async (process, args) => {
  const { flags, rest } = parseFlags(args, 'd')
  const from = characterSet(rest[0] ?? '')
  const to = characterSet(rest[1] ?? '')
  for await (const chunk of inputChunks(process, [])) {
    const bytes: number[] = []
    for (const byte of chunk) {
      const at = from.indexOf(byte)
      if (at < 0) bytes.push(byte)
      else if (!flags.has('d')) bytes.push(to[Math.min(at, to.length - 1)] ?? byte)
    }
    await process.write(1, Uint8Array.from(bytes))
  }
  return 0
}

const seq: Program = async (process, args) => {
  const numbers = args.map(Number)
  const [first = 1, step = 1, last = 1] =
    numbers.length === 1 ? [1, 1, numbers[0]] : numbers.length === 2 ? [numbers[0], 1, numbers[1]] : numbers
  if (numbers.some(Number.isNaN) || step === 0) return fail(process, 'seq: not a number')
  let text = ''
  for (let value = first; step > 0 ? value <= last : value >= last; value += step) {
    text += `${value}\n`
    if (text.length < 32_768) continue
    await print(process, text)
    text = ''
  }
  await print(process, text)
  return 0
}

const yes: Program = async (process, args) => {
  const line = encodePath(`${args.length === 0 ? 'y' : args.join(' ')}\n`)
  const block = Buffer.concat(Array.from({ length: Math.max(1, Math.floor(8_192 / line.length)) }, () => line))
  for (;;) await process.write(1, block)
}

const sha256sum: Program = (process, args) =>
  forEachPath(process, 'sha256sum', args.length === 0 ? ['-'] : args, async (path) => {
    const hash = createHash('sha256')
    for await (const chunk of inputChunks(process, [path])) hash.update(chunk)
    await print(process, `${hash.digest('hex')}  ${path}\n`)
  })

const tee: Program = async (process, args) => {
  const { flags, rest } = parseFlags(args, 'a')
  const files = rest.map((path) => openFile(process, path, flags.has('a') ? '>>' : '>'))
  for await (const chunk of inputChunks(process, [])) {
    await process.write(1, chunk)
    for (const file of files) await file.write(process, chunk)
  }
  return 0
}

const grep: Program = async (process, args) => {
  const { flags, rest, bad } = parseFlags(args, 'qvicFEn')
  if (bad !== undefined) return fail(process, `grep: unknown option -- ${bad}`, 2)
  const [pattern = '', ...paths] = rest
  const source = toByteText(pattern)
  const expression = new RegExp(
    flags.has('F') ? source.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&') : source,
    flags.has('i') ? 'i' : '',
  )
  const found: string[] = []
  for (const [index, line] of (await readLines(process, paths)).entries()) {
    if (expression.test(line) !== flags.has('v')) found.push(flags.has('n') ? `${index + 1}:${line}` : line)
  }
  if (flags.has('c')) await print(process, `${found.length}\n`)
  else if (!flags.has('q')) await process.write(1, Buffer.from(found.map((line) => `${line}\n`).join(''), 'latin1'))
  return found.length > 0 ? 0 : 1
}

const cmp: Program = async (process, args) => {
  const { rest } = parseFlags(args, 's')
  const [a, b] = [await readAll(process, [rest[0] ?? '-']), await readAll(process, [rest[1] ?? '-'])]
  return a.equals(b) ? 0 : 1
}

const readlink: Program = (process, args) =>
  forEachPath(process, 'readlink', args, async (path) => {
    const { node } = placeOf(process, path, false)
    if (node?.type === 'symlink') await print(process, `${node.target}\n`)
    else await fail(process, `readlink: ${path}: not a link`)
  })

function countLines(chunk: Uint8Array): number {
  let lines = 0
  for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++
  return lines
}

/** Bytes of the first `lines` lines. */
function lengthOfLines(chunk: Uint8Array, lines: number): number {
  let at = -1
  for (let left = lines; left > 0; left--) {
    at = chunk.indexOf(10, at + 1)
    if (at < 0) return chunk.length
  }
  return at + 1
}

/** `a-z`, `\n`, `[:upper:]`: as byte values, in order. */
function characterSet(text: string): number[] {
  const named: Record<string, string> = {
    upper: 'A-Z',
    lower: 'a-z',
    digit: '0-9',
    alnum: 'A-Za-z0-9',
    space: ' \\t\\n',
  }
  const plain = toByteText(text).replace(/\[:(\w+):\]/g, (whole, name: string) => named[name] ?? whole)
  const set: number[] = []
  for (let i = 0; i < plain.length; i++) {
    const escape =
      plain[i] === '\\' ? { n: '\n', t: '\t', r: '\r', '0': '\0', '\\': '\\' }[plain[i + 1] ?? ''] : undefined
    if (escape !== undefined) {
      set.push(escape.charCodeAt(0))
      i++
    } else if (plain[i + 1] === '-' && i + 2 < plain.length) {
      for (let code = plain.charCodeAt(i); code <= plain.charCodeAt(i + 2); code++) set.push(code)
      i += 2
    } else set.push(plain.charCodeAt(i))
  }
  return set
}

export const TEXT_PROGRAMS: Readonly<Record<string, Program>> = {
  cat,
  cmp,
  echo,
  grep,
  head,
  readlink,
  seq,
  sha256sum,
  sort,
  tail,
  tee,
  tr,
  wc,
  yes,
}

/** What reads and writes nothing but its arguments. */
export async function printName(process: MemoryProcess, text: string): Promise<number> {
  await print(process, `${text}\n`)
  return 0
}
