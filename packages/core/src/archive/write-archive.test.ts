import { describe, expect, it } from 'vitest'
import { archiveOf, chunksOf, collect, eachOf } from './archive.fixture.js'
import type { ArchiveEntry } from './archive-member.js'
import { writeArchive } from './write-archive.js'
import { isSandboxError } from '../errors/sandbox-error.js'
import { parseRelativePath } from '../path/relative-path.js'

const file: ArchiveEntry = { path: parseRelativePath('f'), type: 'file', mode: 0o644, mtimeNs: 0n }
const bytes = (length: number): Uint8Array => new Uint8Array(length).fill(1)

describe('writeArchive', () => {
  it.each<[string, Partial<ArchiveEntry>]>([
    ['shorter bytes', { sizeBytes: 10, content: bytes(9) }],
    ['longer bytes', { sizeBytes: 10, content: bytes(11) }],
    ['a shorter stream', { sizeBytes: 10, content: eachOf([bytes(4), bytes(5)]) }],
    ['a longer stream', { sizeBytes: 10, content: eachOf([bytes(4), bytes(7)]) }],
    ['a stream where nothing was announced', { content: eachOf([bytes(1)]) }],
    ['no content where some was announced', { sizeBytes: 1 }],
    ['a size that is none', { sizeBytes: 1.5 }],
    ['a directory with a size', { type: 'directory', sizeBytes: 1 }],
    ['a link without a target', { type: 'symlink' }],
    ['a link to nothing', { type: 'symlink', linkTarget: '' }],
    ['a target with a NUL', { type: 'symlink', linkTarget: 'a\0b' }],
    ['a file with a target', { linkTarget: 'x' }],
    ['a mode with a file type', { mode: 0o100644 }],
    ['an owner of -1', { uid: -1 }],
    ['a time that no clock has', { mtimeNs: 2n ** 63n }],
  ])('fails for %s, before the archive ends', async (_what, more) => {
    for (const gzip of [false, true]) {
      const reader = writeArchive(eachOf([file, { ...file, ...more }]), { gzip }).getReader()
      const reading = (async () => {
        while (!(await reader.read()).done);
      })()
      await expect(reading).rejects.toThrow(expect.toSatisfy((error) => isSandboxError(error, 'archive_rejected')))
      if (Symbol.asyncIterator in (more.content ?? {})) return
    }
  })

  it('ends entries and contents when it is cancelled', async () => {
    const ended: string[] = []
    async function* content(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield bytes(100_000)
      } finally {
        ended.push('content')
      }
    }
    async function* entries(): AsyncGenerator<ArchiveEntry> {
      try {
        yield { ...file, sizeBytes: 1024 ** 3, content: content() }
      } finally {
        ended.push('entries')
      }
    }
    for (const gzip of [false, true]) {
      const reader = writeArchive(entries(), { gzip }).getReader()
      await reader.read()
      await reader.cancel()
      expect(ended.splice(0)).toEqual(['content', 'entries'])
    }
  })

  it.each([false, true])('is aborted while a content stalls (gzip: %s)', async (gzip) => {
    const abort = new AbortController()
    const stalled = new ReadableStream<Uint8Array>({
      pull: () => {
        queueMicrotask(() => abort.abort())
        return new Promise(() => undefined)
      },
    })
    const entries = eachOf([{ ...file, sizeBytes: 10, content: stalled }])
    const writing = collect(writeArchive(entries, { gzip, signal: abort.signal }))
    await expect(writing).rejects.toThrow(expect.toSatisfy((error) => isSandboxError(error, 'aborted')))
  })

  it('passes on what the entries throw', async () => {
    const failure = new TypeError('the disk')
    async function* entries(): AsyncGenerator<ArchiveEntry> {
      yield file
      throw failure
    }
    for (const gzip of [false, true]) await expect(collect(writeArchive(entries(), { gzip }))).rejects.toBe(failure)
  })

  it('reads nothing before it is read', async () => {
    let asked = false
    async function* entries(): AsyncGenerator<ArchiveEntry> {
      asked = true
      yield file
    }
    const stream = writeArchive(entries())
    await new Promise((resolve) => setImmediate(resolve))
    expect(asked).toBe(false)
    expect(await chunksOf(stream)).toHaveLength(1)
  })

  it('uses pax only where ustar cannot say it', async () => {
    const headers = async (more: Partial<ArchiveEntry>): Promise<number> =>
      (await archiveOf([{ ...file, ...more }])).length / 512
    const path = parseRelativePath
    expect(await headers({ mtimeNs: 1_700_000_000_000_000_000n })).toBe(3)
    expect(await headers({ path: path(`${'d'.repeat(155)}/${'f'.repeat(100)}`) })).toBe(3)
    expect(await headers({ path: path(`${'d'.repeat(156)}/f`) })).toBe(5)
    expect(await headers({ path: path('f'.repeat(101)) })).toBe(5)
    expect(await headers({ path: path('grün') })).toBe(5)
    expect(await headers({ mtimeNs: 1n })).toBe(5)
    expect(await headers({ uid: 0o7777777 })).toBe(3)
    expect(await headers({ uid: 0o10000000 })).toBe(5)
  })
})
