import fc from 'fast-check'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  chmodSync,
  linkSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  archiveOf,
  chunksOf,
  collect,
  eachOf,
  extractAll,
  inChunks,
  listNames,
  systemTar,
  trees,
} from './archive.fixture.js'
import type { Extracted } from './archive.fixture.js'
import type { ArchiveEntry } from './archive-member.js'
import { readArchive } from './read-archive.js'
import { writeArchive } from './write-archive.js'
import { encodePath } from '../path/path-bytes.js'
import { parseRelativePath } from '../path/relative-path.js'

const entry = (path: string, more: Partial<ArchiveEntry> = {}): ArchiveEntry => ({
  path: parseRelativePath(path),
  type: 'file',
  mode: 0o644,
  mtimeNs: 0n,
  ...more,
})

describe('an archive that was written', () => {
  it('is read as what was written, whatever the chunks', async () => {
    await fc.assert(
      fc.asyncProperty(trees, fc.array(fc.integer({ min: 1, max: 1500 }), { minLength: 1 }), async (tree, sizes) => {
        const archive = await archiveOf(tree)
        expect(archive.length % 512).toBe(0)
        expect(await extractAll(inChunks(archive, ...sizes))).toEqual(tree.map(asExtracted))
        if (archive.length < 6000) expect(await extractAll(inChunks(archive, 1))).toEqual(tree.map(asExtracted))
      }),
      { numRuns: 250 },
    )
  })

  it('has the same bytes each time, also compressed', async () => {
    await fc.assert(
      fc.asyncProperty(trees, async (tree) => {
        const archive = await archiveOf(tree)
        expect(await archiveOf(tree)).toEqual(archive)
        const compressed = await archiveOf(tree, { gzip: true })
        expect(compressed[9]).toBe(0xff)
        expect(await archiveOf(tree, { gzip: true })).toEqual(compressed)
        expect(gunzipSync(compressed)).toEqual(archive)
        expect(await extractAll(inChunks(compressed, 100))).toEqual(tree.map(asExtracted))
      }),
      { numRuns: 40 },
    )
  })

  it('can be written again as it is read', async () => {
    const archive = await archiveOf([
      entry('d', { type: 'directory' }),
      entry('d/f', { content: Buffer.from('content') }),
    ])
    const again = writeArchive(readArchive(inChunks(archive, 300)))
    expect(await collect(again)).toEqual(archive)
  })

  it('comes in large chunks, however small the files', async () => {
    const tree = Array.from({ length: 3000 }, (_, i) => entry(`f${i}`, { content: Buffer.alloc(100) }))
    const chunks = await chunksOf(writeArchive(eachOf(tree)))
    expect(Math.min(...chunks.slice(0, -1).map(({ length }) => length))).toBeGreaterThanOrEqual(64 * 1024)
  })

  it('says sizes from 8 GiB in pax', async () => {
    const announced = entry('large', {
      sizeBytes: 8 * 1024 ** 3,
      content: eachOf<Uint8Array>([new Uint8Array(300_000)]),
    })
    const reader = writeArchive(eachOf([announced])).getReader()
    const { value } = await reader.read()
    await reader.cancel()
    const limits = { maxExtractedBytes: Infinity }
    for await (const member of readArchive(inChunks(value!, 1000), { limits })) {
      expect(member.sizeBytes).toBe(8 * 1024 ** 3)
      break
    }
  })
})

describe('interchange with the system’s tar', () => {
  let directory: string
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'cofferdam-archive-'))
  })
  afterEach(() => rmSync(directory, { recursive: true, force: true }))

  it('extracts what was written', async () => {
    await fc.assert(
      fc.asyncProperty(trees, async (tree) => {
        const into = mkdtempSync(join(directory, 'x-'))
        // A directory's mode may keep tar from its children, and its time from being kept; both are tested below.
        const plain = tree.map((member) => ({ ...member, mode: 0o755, mtimeNs: clampTime(member.mtimeNs) }))
        systemTar(['-xf', '-', '-C', into, '--no-same-owner', '--warning=no-timestamp'], await archiveOf(plain))
        for (const { path, type, content, mtimeNs } of plain) {
          const at = Buffer.concat([Buffer.from(`${into}/`), encodePath(path)])
          if (type === 'file') {
            expect(readFileSync(at)).toEqual(Buffer.from(content as Uint8Array))
            expect(statSync(at, { bigint: true }).mtimeNs).toBe(mtimeNs)
          }
          if (type === 'directory') expect(statSync(at).isDirectory()).toBe(true)
        }
      }),
      { numRuns: 25 },
    )
  })

  it.each(['gnu', 'pax', 'ustar', 'v7', 'oldgnu'])('reads what %s tar archives', async (format) => {
    const long = format === 'v7' ? 'long' : 'l'.repeat(format === 'ustar' ? 90 : 150)
    const at = (name: string): string => join(directory, name)
    mkdirSync(at(`tree/${long}/deep`), { recursive: true })
    mkdirSync(at('tree/empty'))
    writeFileSync(at(`tree/${long}/deep/file`), 'deep')
    writeFileSync(at('tree/empty-file'), '')
    writeFileSync(at('tree/-dash\nnewline'), 'odd')
    writeFileSync(Buffer.concat([Buffer.from(at('tree/')), Buffer.of(0xff, 0xfe)]), 'bytes')
    writeFileSync(at('tree/grün'), 'x'.repeat(100_000))
    chmodSync(at('tree/grün'), 0o751)
    linkSync(at('tree/grün'), at('tree/hard'))
    symlinkSync('grün', at('tree/soft'))
    lutimesSync(at('tree/empty-file'), 1_700_000_000.5, 1_700_000_000.5)
    const archive = systemTar([`--format=${format}`, '--sort=name', '-cf', '-', '-C', at('tree'), '.'])
    const found = new Map((await extractAll(inChunks(archive, 10_240))).map((member) => [member.path, member]))
    const listed = listNames(archive)
    expect([...found.keys()].sort()).toEqual(listed.sort())
    expect(found.get(`${long}/deep/file`)?.content).toBe('deep')
    expect(found.get('-dash\nnewline')?.content).toBe('odd')
    expect(found.get('\udcff\udcfe')?.content).toBe('bytes')
    expect(found.get('grün')).toMatchObject({ type: 'file', mode: 0o751 })
    expect(found.get('hard')).toMatchObject({ type: 'hardlink', linkTarget: 'grün' })
    expect(found.get('soft')).toMatchObject({ type: 'symlink', linkTarget: 'grün' })
    expect(found.get('empty')?.type).toBe('directory')
    expect(found.get('empty-file')?.mtimeNs).toBe(
      format === 'pax' ? 1_700_000_000_500_000_000n : 1_700_000_000_000_000_000n,
    )
  })

  it('keeps modes, times and links through tar and back', async () => {
    const tree = [
      entry('d', { type: 'directory', mode: 0o555, mtimeNs: 1_000_000_000n }),
      entry('d/f', { mode: 0o4711, mtimeNs: 1_234_567_890_123_456_789n, content: Buffer.from('x') }),
      entry('d/h', { type: 'hardlink', linkTarget: 'd/f', mode: 0o4711, mtimeNs: 1_234_567_890_123_456_789n }),
      entry('l', { type: 'symlink', linkTarget: 'd/f', mode: 0o777, mtimeNs: 5n }),
    ]
    systemTar(['-xpf', '-', '-C', directory], await archiveOf(tree))
    const archive = systemTar([
      '--format=pax',
      '--sort=name',
      '--owner=0',
      '--group=0',
      '-cf',
      '-',
      '-C',
      directory,
      '.',
    ])
    const back = await extractAll(inChunks(archive, 10_240), { allowSetid: true })
    expect(back).toEqual(tree.map(asExtracted))
    expect((await extractAll(inChunks(archive, 10_240)))[1]?.mode).toBe(0o711)
  })
})

function asExtracted({ path, type, mode, mtimeNs, uid = 0, gid = 0, linkTarget, content }: ArchiveEntry): Extracted {
  const text = content === undefined ? '' : Buffer.from(content as Uint8Array).toString('latin1')
  return { path, type, mode, mtimeNs, uid, gid, linkTarget, content: text }
}

/** What every file system can store. */
function clampTime(mtimeNs: bigint): bigint {
  return mtimeNs < 0n || mtimeNs > 4n * 10n ** 18n ? 0n : mtimeNs
}
