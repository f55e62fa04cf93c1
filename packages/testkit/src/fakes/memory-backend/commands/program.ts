import { encodePath } from '@cofferdam/core/path'
import type { MemoryProcess } from '../process/memory-process.js'
import type { Place } from '../tree/walk.js'
import { PosixError } from '../tree/posix-error.js'

export async function print(process: MemoryProcess, text: string): Promise<void> {
  await process.write(1, encodePath(text))
}

/** Says what went wrong, in the name of the program, and gives the exit code for it. */
export async function fail(process: MemoryProcess, message: string, status = 1): Promise<number> {
  await process.write(2, encodePath(`${message}\n`))
  return status
}

/** Splits `-rf --parents x` into letters and the rest. Options that are not known are a usage error of the caller. */
export function parseFlags(
  args: readonly string[],
  known: string,
): { flags: ReadonlySet<string>; rest: string[]; bad?: string } {
  const flags = new Set<string>()
  let at = 0
  for (; at < args.length; at++) {
    const arg = args[at]!
    if (arg === '--') {
      at++
      break
    }
    if (!arg.startsWith('-') || arg === '-') break
    for (const letter of arg.slice(1)) {
      if (!known.includes(letter)) return { flags, rest: [], bad: letter }
      flags.add(letter)
    }
  }
  return { flags, rest: args.slice(at) }
}

export function placeOf(process: MemoryProcess, path: string, follow = true): Place {
  return process.tree.walk(path, { from: process.directory, follow })
}

/** Runs `action` for every path and reports each that fails. 0 when none did. */
export async function forEachPath(
  process: MemoryProcess,
  name: string,
  paths: readonly string[],
  action: (path: string) => void | Promise<void>,
): Promise<number> {
  let status = 0
  for (const path of paths) {
    try {
      await process.checkpoint()
      await action(path)
    } catch (error) {
      if (!(error instanceof PosixError)) throw error
      status = await fail(process, `${name}: ${path}: ${error.message}`)
    }
  }
  return status
}

/** Chunks of standard input, or of files one after the other. */
export async function* inputChunks(process: MemoryProcess, paths: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const path of paths.length === 0 ? ['-'] : paths) {
    if (path === '-') {
      for (let chunk = await process.read(0); chunk !== null; chunk = await process.read(0)) yield chunk
      continue
    }
    if (path === '/dev/null') continue
    const { node } = placeOf(process, path)
    if (node === undefined) throw new PosixError('ENOENT')
    if (node.type !== 'file') throw new PosixError('EISDIR')
    for (let offset = 0; offset < node.sizeBytes; offset += 65_536) {
      await process.checkpoint()
      yield node.bytes.slice(offset, Math.min(node.sizeBytes, offset + 65_536))
    }
  }
}

export async function readAll(process: MemoryProcess, paths: readonly string[]): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of inputChunks(process, paths)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Lines without their ends, byte for byte: one character stands for one byte. */
export async function readLines(process: MemoryProcess, paths: readonly string[]): Promise<string[]> {
  const lines = (await readAll(process, paths)).toString('latin1').split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

/** Text as a program compares it with bytes of files: one character for one byte. */
export function toByteText(text: string): string {
  return Buffer.from(encodePath(text)).toString('latin1')
}
