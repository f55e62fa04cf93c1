import fc from 'fast-check'
import { spawnSync } from 'node:child_process'
import type { ArchiveEntry, ArchiveMember } from './archive-member.js'
import { readArchive } from './read-archive.js'
import type { ReadArchiveOptions } from './read-archive.js'
import { writeArchive } from './write-archive.js'
import type { WriteArchiveOptions } from './write-archive.js'
import { decodePath } from '../path/path-bytes.js'
import { parseRelativePath } from '../path/relative-path.js'

/** A member with its content, as plain data that can be compared. */
export interface Extracted {
  path: string
  type: ArchiveMember['type']
  mode: number
  mtimeNs: bigint
  uid: number
  gid: number
  linkTarget: string | undefined
  content: string
}

export async function extractAll(
  source: Parameters<typeof readArchive>[0],
  options: ReadArchiveOptions = {},
): Promise<Extracted[]> {
  const all: Extracted[] = []
  for await (const member of readArchive(source, options)) {
    const { path, type, mode, mtimeNs, uid, gid, linkTarget } = member
    const content = Buffer.from(await member.bytes()).toString('latin1')
    all.push({ path, type, mode, mtimeNs, uid, gid, linkTarget, content })
  }
  return all
}

export async function archiveOf(entries: readonly ArchiveEntry[], options: WriteArchiveOptions = {}): Promise<Buffer> {
  return collect(writeArchive(eachOf(entries), options))
}

export async function collect(stream: ReadableStream<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await chunksOf(stream))
}

export async function chunksOf(stream: ReadableStream<Uint8Array>): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = []
  const reader = stream.getReader()
  for (let next = await reader.read(); !next.done; next = await reader.read()) chunks.push(next.value)
  return chunks
}

export async function* eachOf<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items
}

/** The bytes in chunks of a size, or of sizes in turn. */
export async function* inChunks(bytes: Uint8Array, ...sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length]!
    yield bytes.subarray(at, at + size)
    at += size
  }
}

/** Runs the system's tar; its standard output. */
export function systemTar(args: readonly string[], input?: Uint8Array): Buffer {
  const { status, stdout, stderr } = spawnSync('tar', args, {
    ...(input === undefined ? {} : { input }),
    env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' },
    maxBuffer: 256 * 1024 ** 2,
  })
  if (status !== 0) throw new TypeError(`tar ${args.join(' ')} ended with ${status}: ${stderr.toString()}`)
  return stdout
}

/** Names as the system's tar sees them, without the root. */
export function listNames(archive: Uint8Array): string[] {
  const listed = systemTar(['--quoting-style=escape', '-tf', '-'], archive).toString('latin1')
  return listed
    .split('\n')
    .map((line) => decodePath(unescapeName(line)).replace(/^\.\//, '').replace(/\/$/, ''))
    .filter((name) => name !== '')
}

function unescapeName(line: string): Uint8Array {
  const named: Record<string, number> = { n: 10, t: 9, r: 13, a: 7, b: 8, f: 12, v: 11, '\\': 92, ' ': 32 }
  const bytes: number[] = []
  for (const [token, octal, letter] of line.matchAll(/\\([0-7]{3})|\\(.)|[^\\]/g)) {
    bytes.push(octal !== undefined ? parseInt(octal, 8) : letter !== undefined ? named[letter]! : token.charCodeAt(0))
  }
  return Uint8Array.from(bytes)
}

const nameByte = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...Buffer.from('abcXYZ019._- ')) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(0x0a, 0x09, 0x5c, 0x22, 0x27, 0x2a, 0x3d, 0x7f, 0x01, 0xc3, 0xa9, 0x80, 0xff, 0xf0),
  },
)
const name = fc
  .oneof(
    { weight: 8, arbitrary: fc.array(nameByte, { minLength: 1, maxLength: 20 }) },
    { weight: 1, arbitrary: fc.array(nameByte, { minLength: 90, maxLength: 160 }) },
    { weight: 1, arbitrary: fc.array(nameByte, { minLength: 255, maxLength: 255 }) },
  )
  .map((bytes) => decodePath(Uint8Array.from(bytes)))
  .filter((text) => text !== '.' && text !== '..')

const mtimeNs = fc.oneof(
  fc.bigInt({ min: 0n, max: 4_000_000_000n }).map((seconds) => seconds * 1_000_000_000n),
  fc.bigInt({ min: -(10n ** 18n), max: 4n * 10n ** 18n }),
  fc.constantFrom(0n, 1n, -1n, 2n ** 63n - 1n, -(2n ** 63n - 1n)),
)
const content = fc.oneof(
  fc.constant(new Uint8Array(0)),
  fc.uint8Array({ maxLength: 40 }),
  fc.integer({ min: 500, max: 1600 }).map((length) => new Uint8Array(length).fill(length)),
)
const facts = fc.record({
  mode: fc.integer({ min: 0, max: 0o777 }),
  mtimeNs,
  uid: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff_fffe })),
  gid: fc.oneof(fc.constant(1000), fc.integer({ min: 0, max: 0xffff_fffe })),
})

/** Trees that any file system can hold: directories before what they hold, links to what is there. */
export const trees: fc.Arbitrary<ArchiveEntry[]> = fc
  .array(
    fc.tuple(fc.nat(), name, fc.constantFrom('file', 'file', 'directory', 'symlink', 'hardlink'), facts, content),
    {
      maxLength: 14,
    },
  )
  .map((rows) => {
    const entries = new Map<string, ArchiveEntry>()
    const directories = ['']
    const files: string[] = []
    for (const [pick, leaf, type, { mode, mtimeNs, uid, gid }, bytes] of rows) {
      const parent = directories[pick % directories.length]!
      const text = parent === '' ? leaf : `${parent}/${leaf}`
      if (entries.has(text) || Buffer.byteLength(text) > 2000) continue
      const path = parseRelativePath(text)
      const base = { path, mode, mtimeNs, uid, gid }
      if (type === 'directory') directories.push(text)
      if (type === 'file') files.push(text)
      const target = type === 'hardlink' ? files[pick % Math.max(files.length, 1)] : leaf
      if (target === undefined) continue
      if (type === 'file') entries.set(text, { ...base, type, content: bytes })
      else if (type === 'directory') entries.set(text, { ...base, type })
      else entries.set(text, { ...base, type: type === 'hardlink' ? 'hardlink' : 'symlink', linkTarget: target })
    }
    return [...entries.values()]
  })
