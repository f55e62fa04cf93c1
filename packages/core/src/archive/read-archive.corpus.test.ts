import { ARCHIVE_CASES } from '@cofferdam/testkit/corpora'
import { describe, expect, it } from 'vitest'
import type { ArchiveMember } from './archive-member.js'
import { readArchive } from './read-archive.js'
import { isSandboxError } from '../errors/sandbox-error.js'

describe('the archive corpus', () => {
  it('is large, and every case has its own id', () => {
    expect(ARCHIVE_CASES.length).toBeGreaterThanOrEqual(80)
    expect(new Set(ARCHIVE_CASES.map(({ id }) => id)).size).toBe(ARCHIVE_CASES.length)
  })

  it.each(ARCHIVE_CASES)('$id: $why', async ({ build, expect: expected, members, reason, options }) => {
    const archive = build()
    for (const chunkBytes of [archive.length, 1000, ...(archive.length < 20_000 ? [1] : [])]) {
      const outcome = await extract(archive, { chunkBytes, options: options ?? {} })
      expect(outcome.code).toBe(expected)
      if (expected === 'ok') expect(outcome.members).toEqual(members)
      if (expected === 'archive_rejected')
        expect(outcome.reason).toContain(reason ?? 'a reason, which every case must give')
    }
  })
})

interface Outcome {
  code: string
  reason: string
  members: string[]
}

async function extract(
  archive: Uint8Array,
  { chunkBytes, options }: { chunkBytes: number; options: Parameters<typeof readArchive>[1] & object },
): Promise<Outcome> {
  const outcome: Outcome = { code: 'ok', reason: '', members: [] }
  try {
    for await (const member of readArchive(chunked(archive, chunkBytes), options)) {
      outcome.members.push(describeMember(member))
      expect((await member.bytes()).length).toBe(member.sizeBytes)
    }
  } catch (error) {
    if (!isSandboxError(error)) throw error
    outcome.code = error.code
    if (isSandboxError(error, 'archive_rejected')) outcome.reason = error.details.reason
  }
  return outcome
}

function describeMember({ type, path, linkTarget }: ArchiveMember): string {
  return `${type} ${path}${linkTarget === undefined ? '' : ` -> ${linkTarget}`}`
}

async function* chunked(bytes: Uint8Array, chunkBytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes)
}
