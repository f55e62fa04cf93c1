import {
  base256,
  concatBytes,
  rawArchive,
  rawDirectory,
  rawFile,
  rawHardlink,
  rawLong,
  rawMember,
  rawPax,
  rawPaxBody,
  rawSymlink,
} from '@cofferdam/testkit/corpora'
import { posix } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { inChunks, listNames } from './archive.fixture.js'
import { readArchive } from './read-archive.js'
import { isSandboxError } from '../errors/sandbox-error.js'

const seed = Number(process.env['COFFERDAM_SEED'] ?? Date.now() % 2 ** 31)
const ARCHIVES = 24_000
const COMPARED = 400

describe(`readArchive, fuzzed with COFFERDAM_SEED=${seed}`, () => {
  it(`takes ${ARCHIVES} archives for what they are`, { timeout: 120_000 }, async () => {
    console.log(`COFFERDAM_SEED=${seed}`)
    const random = generator(seed)
    const tally = { accepted: 0, rejected: 0, compared: 0, slowestMs: 0, mostMemory: 0 }
    const memoryBefore = process.memoryUsage().arrayBuffers
    for (let i = 0; i < ARCHIVES; i++) {
      const archive = mutated(random, randomArchive(random))
      const started = performance.now()
      const names = await readSafely(archive, random, i)
      tally.slowestMs = Math.max(tally.slowestMs, performance.now() - started)
      if (i % 500 === 0)
        tally.mostMemory = Math.max(tally.mostMemory, process.memoryUsage().arrayBuffers - memoryBefore)
      if (names === undefined) tally.rejected++
      else {
        tally.accepted++
        if (names.length > 1 && tally.compared < COMPARED) {
          tally.compared++
          expect(withoutRoot(listNames(archive[0] === 0x1f ? gunzipSync(archive) : archive)), `archive ${i}`).toEqual(
            names,
          )
        }
      }
    }
    console.log(tally)
    // Random input that is all refused or all taken would test one half only.
    expect(tally.accepted).toBeGreaterThan(ARCHIVES / 10)
    expect(tally.rejected).toBeGreaterThan(ARCHIVES / 4)
    expect(tally.compared).toBe(COMPARED)
    expect(tally.slowestMs).toBeLessThan(5000)
    expect(tally.mostMemory).toBeLessThan(64 * 1024 ** 2)
  })
})

/** Names of an archive that was accepted. Fails for any error that is not the reader's, and for any way out. */
async function readSafely(archive: Uint8Array, random: Random, index: number): Promise<string[] | undefined> {
  const tree = new Map<string, string | undefined>()
  const names: string[] = []
  try {
    for await (const member of readArchive(inChunks(archive, ...pick(random, CHUNKINGS)))) {
      expectInside(member.path)
      if (random() < 0.5) expect((await member.bytes()).length).toBe(member.sizeBytes)
      names.push(member.path)
      tree.set(member.path, member.type === 'symlink' ? member.linkTarget : undefined)
      if (member.type === 'hardlink') expect(tree.has(member.linkTarget!)).toBe(true)
    }
  } catch (error) {
    if (isSandboxError(error, 'archive_rejected') || isSandboxError(error, 'archive_limit')) {
      expectLinksInside(tree)
      return undefined
    }
    throw new TypeError(`archive ${index} of seed ${seed}`, { cause: error })
  }
  expectLinksInside(tree)
  return names
}

function expectInside(path: string): void {
  expect(path.split('/').some((component) => ['', '.', '..'].includes(component))).toBe(false)
  expect(path).not.toContain('\0')
}

/** Follows every link as a kernel would, with only what is in the archive. */
function expectLinksInside(tree: ReadonlyMap<string, string | undefined>): void {
  for (const [path, target] of tree) {
    if (target === undefined) continue
    for (let parent = posix.dirname(path); parent !== '.'; parent = posix.dirname(parent)) {
      expect(tree.get(parent), `${path} lies beneath a link`).toBeUndefined()
    }
    expect(resolves(tree, path), `${path} -> ${target}`).toBe('inside')
  }
}

function resolves(tree: ReadonlyMap<string, string | undefined>, path: string): 'inside' | 'outside' {
  const at: string[] = []
  const rest = path.split('/').reverse()
  for (let links = 0; rest.length > 0;) {
    const component = rest.pop()!
    if (component === '' || component === '.') continue
    if (component === '..') {
      if (at.pop() === undefined) return 'outside'
      continue
    }
    const target = tree.get([...at, component].join('/'))
    if (target === undefined) at.push(component)
    else if (target.startsWith('/')) return 'outside'
    else if (++links > 40) return 'inside'
    else rest.push(...target.split('/').reverse())
  }
  return 'inside'
}

function withoutRoot(names: readonly string[]): string[] {
  return names.map((name) => posix.normalize(name)).filter((name) => name !== '.')
}

const CHUNKINGS: readonly (readonly number[])[] = [[512], [100_000], [1, 700], [511, 2, 513], [64]]
const NAMES = [
  'a',
  'b',
  'a/b',
  'a/b/c',
  'd/',
  './a',
  './',
  'a//b',
  'A',
  'grün',
  '..',
  '../x',
  'a/../b',
  '/etc',
  'up',
  'd/up',
]
const TARGETS = [
  'a',
  'b',
  '..',
  '../b',
  '../..',
  'a/..',
  'up/..',
  'd/up/../x',
  '.',
  '/etc',
  'up/../../x',
  'a/b/../..',
  '',
]
const RECORDS = ['path', 'linkpath', 'size', 'mtime', 'uid', 'comment', 'GNU.sparse.name', 'hdrcharset', 'atime']
const VALUES = ['a', 'b/c', '../x', '7', '0', '-1', '1.5', '5e0', '', 'BINARY', 'up', '1700000000.5', 'x\0y']
const NUMBERS = [0, 7, 512, '0000000007', '7 7', '-7', ' 7', base256(7n, 12), base256(-1n, 12), base256(2n ** 60n, 12)]
const TYPES = ['0', '0', '1', '2', '5', '3', '6', 'S', 'L', 'K', 'x', 'g', '7', '\0', 'Z', 'V']

const LINK_NAMES = ['a', 'b', 'c', 'a/b', 'a/c', 'b/a', 'a/b/up', 'b/up', 'c/d', 'up', 'a/up']

/** Honest headers, dishonest links: what the vetting of targets has to cope with. */
function linkArchive(random: Random): Uint8Array {
  const parts = Array.from({ length: 2 + Math.floor(random() * 5) }, () => {
    const name = pick(random, LINK_NAMES)
    const roll = random()
    if (roll < 0.15) return rawFile(name)
    if (roll < 0.3) return rawDirectory(name)
    const target = Array.from({ length: 1 + Math.floor(random() * 5) }, () =>
      pick(random, ['..', '..', 'a', 'b', 'c', 'up']),
    )
    return rawSymlink(name, target.join('/'))
  })
  return rawArchive(...parts)
}

function randomArchive(random: Random): Uint8Array {
  if (random() < 0.4) return linkArchive(random)
  const parts = Array.from({ length: 1 + Math.floor(random() * 5) }, () => randomPart(random))
  const roll = random()
  if (roll < 0.05) return concatBytes(parts)
  if (roll < 0.1) return concatBytes([...parts, new Uint8Array(512)])
  return rawArchive(...parts)
}

function randomPart(random: Random): Uint8Array {
  const roll = random()
  const name = random() < 0.6 ? `n${Math.floor(random() * 1000)}` : pick(random, NAMES)
  if (roll < 0.35) return rawFile(name, 'x'.repeat(Math.floor(random() * 1200)))
  if (roll < 0.45) return rawDirectory(name)
  if (roll < 0.62) return rawSymlink(name, pick(random, TARGETS))
  if (roll < 0.7) return rawHardlink(name, pick(random, NAMES))
  if (roll < 0.78) return rawPax({ [pick(random, RECORDS)]: pick(random, VALUES) }, random() < 0.8 ? 'x' : 'g')
  if (roll < 0.82) return rawPaxBody(`${Math.floor(random() * 20)} ${pick(random, RECORDS)}=${pick(random, VALUES)}\n`)
  if (roll < 0.87) return rawLong(random() < 0.7 ? 'L' : 'K', pick(random, random() < 0.5 ? NAMES : TARGETS))
  return rawMember({
    name,
    type: pick(random, TYPES),
    body: random() < 0.5 ? '' : 'content',
    magic: pick(random, ['ustar', 'gnu', 'v7'] as const),
    ...(random() < 0.4 ? { size: pick(random, NUMBERS) } : {}),
    ...(random() < 0.2 ? { mtime: pick(random, NUMBERS) } : {}),
    ...(random() < 0.2 ? { prefix: pick(random, NAMES) } : {}),
    ...(random() < 0.3 ? { linkName: pick(random, TARGETS) } : {}),
  })
}

/** Most are left as they are; the others are damaged in one of the ways in which bytes get damaged. */
function mutated(random: Random, archive: Uint8Array): Uint8Array {
  const roll = random()
  const at = Math.floor(random() * archive.length)
  if (roll < 0.55) return archive
  const bytes = new Uint8Array(archive)
  if (roll < 0.65) bytes[at]! ^= 1 << Math.floor(random() * 8)
  else if (roll < 0.75) {
    // Behind a right checksum: only then does the parser get to see it.
    bytes[at] = Math.floor(random() * 256)
    return resealed(bytes, at - (at % 512))
  } else if (roll < 0.8) return bytes.subarray(0, at)
  else if (roll < 0.85) bytes.copyWithin(at - (at % 512), Math.floor((random() * bytes.length) / 512) * 512)
  else if (roll < 0.9) return concatBytes([bytes, bytes.subarray(0, at)])
  else if (roll < 0.95) return new Uint8Array(gzipSync(bytes, { level: 1 }))
  else {
    const packed = new Uint8Array(gzipSync(bytes, { level: 1 }))
    packed[Math.floor(random() * packed.length)]! ^= 1 << Math.floor(random() * 8)
    return packed
  }
  return bytes
}

function resealed(bytes: Uint8Array, at: number): Uint8Array {
  const header = bytes.subarray(at, at + 512)
  header.fill(0x20, 148, 156)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.set(Buffer.from(`${sum.toString(8).padStart(6, '0')}\0 `), 148)
  return bytes
}

type Random = () => number

function pick<T>(random: Random, items: readonly T[]): T {
  return items[Math.floor(random() * items.length)]!
}

/** mulberry32: small, and the same everywhere. */
function generator(start: number): Random {
  let state = start | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
