import { rawArchive, rawFile, rawPax, rawSymlink } from '@cofferdam/testkit/corpora'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { eachOf, extractAll, inChunks } from './archive.fixture.js'
import { resolveArchiveLimits } from './archive-limits.js'
import { readArchive } from './read-archive.js'
import { isSandboxError } from '../errors/sandbox-error.js'
import type { SandboxErrorCode } from '../errors/error-details.js'

const failsWith = (code: SandboxErrorCode): unknown => expect.toSatisfy((error) => isSandboxError(error, code))

describe('readArchive', () => {
  const two = rawArchive(rawFile('a', 'a'.repeat(5000)), rawFile('b', 'second'))

  it('gives content as a stream, in part or not at all', async () => {
    const seen: string[] = []
    for await (const member of readArchive(inChunks(two, 700))) {
      if (member.path === 'b') seen.push(await new Response(member.content).text())
      else {
        const reader = member.content.getReader()
        seen.push(String((await reader.read()).value?.length))
        await reader.cancel()
      }
    }
    expect(seen).toEqual(['188', 'second'])
  })

  it('refuses to give content after the next member was asked for', async () => {
    const members = readArchive(inChunks(two, 700))
    const first = (await members.next()).value!
    const reader = first.content.getReader()
    await members.next()
    await expect(reader.read()).rejects.toThrow(TypeError)
    await expect(first.bytes()).rejects.toThrow(TypeError)
    await members.return()
  })

  it('gives nothing out of a member that is not acceptable, and cancels the source', async () => {
    let cancelled: unknown
    const source = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(rawArchive(rawFile('good'), rawFile('../bad'))),
      cancel: (reason) => {
        cancelled = reason
      },
    })
    const members = readArchive(source)
    expect((await members.next()).value?.path).toBe('good')
    await expect(members.next()).rejects.toThrow(failsWith('archive_rejected'))
    expect(cancelled).toSatisfy((error) => isSandboxError(error, 'archive_rejected'))
    expect(await members.next()).toEqual({ done: true, value: undefined })
  })

  it('cancels the source when its reader stops early, also through gzip', async () => {
    for (const archive of [two, gzipSync(two)]) {
      let cancelled = false
      const source = new ReadableStream<Uint8Array>({
        pull: (controller) => controller.enqueue(archive),
        cancel: () => {
          cancelled = true
        },
      })
      for await (const member of readArchive(source)) if (member.path === 'a') break
      expect(cancelled).toBe(true)
    }
  })

  it.each([
    ['plain', two],
    ['gzip', new Uint8Array(gzipSync(two))],
  ])('is aborted while the source stalls (%s)', async (_kind, archive) => {
    const abort = new AbortController()
    let returned = false
    const stalled: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => {
        let first = true
        return {
          next: () => {
            const value = archive.subarray(0, 30)
            if (!first) queueMicrotask(() => abort.abort())
            const result = first ? Promise.resolve({ done: false, value }) : new Promise<never>(() => undefined)
            first = false
            return result
          },
          return: () => {
            returned = true
            return Promise.resolve({ done: true, value: undefined })
          },
        }
      },
    }
    await expect(extractAll(stalled, { signal: abort.signal })).rejects.toThrow(failsWith('aborted'))
    expect(returned).toBe(true)
  })

  it('refuses to begin when already aborted', async () => {
    await expect(extractAll(inChunks(two, 99), { signal: AbortSignal.abort() })).rejects.toThrow(failsWith('aborted'))
  })

  it('passes on what the source throws', async () => {
    const failure = new TypeError('the network')
    for (const start of [two.subarray(0, 100), new Uint8Array(gzipSync(two)).subarray(0, 20)]) {
      const broken = (async function* () {
        yield start
        throw failure
      })()
      await expect(extractAll(broken)).rejects.toBe(failure)
    }
  })

  it('holds no more than a little, however large the archive', async () => {
    const chunk = new Uint8Array(1024 * 1024)
    const total = 256
    async function* source(): AsyncGenerator<Uint8Array> {
      yield rawFile('large', '', { size: total * chunk.length })
      for (let i = 0; i < total; i++) yield new Uint8Array(chunk)
      yield new Uint8Array(1024)
    }
    let most = 0
    const before = process.memoryUsage().arrayBuffers
    for await (const member of readArchive(source())) {
      const reader = member.content.getReader()
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        most = Math.max(most, process.memoryUsage().arrayBuffers - before)
      }
    }
    // What the collector has not yet taken counts, too: a leak would be the whole 256 MiB.
    expect(most).toBeLessThan(128 * 1024 ** 2)
  })

  it('does its work in time for targets made to be slow', async () => {
    const tangle = 'a/../'.repeat(800) + 'x'
    const links = Array.from({ length: 2000 }, (_, i) => [
      rawPax({ linkpath: tangle }),
      rawSymlink(`l${i}`, 'x'),
    ]).flat()
    const started = performance.now()
    expect(await extractAll(eachOf([rawArchive(...links)]))).toHaveLength(2000)
    expect(performance.now() - started).toBeLessThan(5000)
  })
})

describe('resolveArchiveLimits', () => {
  it.each([0, -1, 1.5, NaN, '5', null])('refuses %j', (value) => {
    expect(() => resolveArchiveLimits({ maxMembers: value as number })).toThrow(failsWith('invalid_argument'))
  })

  it('refuses a limit that does not exist, at once', () => {
    const limits = { maxFiles: 5 } as object
    expect(() => readArchive(inChunks(new Uint8Array(0), 1), { limits })).toThrow(
      /no such limit; there are maxInputBytes/,
    )
  })

  it('keeps the defaults for what is not given', () => {
    expect(resolveArchiveLimits({ maxMembers: 5, maxDepth: Infinity })).toMatchObject({
      maxMembers: 5,
      maxDepth: Infinity,
      maxInputBytes: 1024 ** 3,
      maxExtractedBytes: 4 * 1024 ** 3,
      maxExpansionRatio: 200,
    })
  })
})
