import { setImmediate } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SandboxSession } from '@cofferdam/core'
import { testPlace } from '../acquire/test-host.fixture.js'
import type { TestPlace } from '../acquire/test-host.fixture.js'

let place: TestPlace
let session: SandboxSession

beforeAll(async () => {
  place = await testPlace()
  session = await (await place.host()).acquire()
})
afterAll(() => place.remove())

/** Chunks of one byte, and whether they were let go of before their end. */
function source(
  text: string,
  endless = false,
): { readonly data: AsyncIterable<Uint8Array>; readonly left: Promise<string> } {
  let leave: (how: string) => void = () => undefined
  const left = new Promise<string>((resolve) => (leave = resolve))
  async function* data(): AsyncGenerator<Uint8Array> {
    let how = 'let go'
    try {
      do for (const character of text) yield new TextEncoder().encode(character)
      while (endless)
      how = 'taken to its end'
    } finally {
      leave(how)
    }
  }
  return { data: data(), left }
}

describe('exec', () => {
  it('gives what a command wrote to both outputs, and how it ended', async () => {
    const result = await session.exec('echo out; echo err >&2; exit 3')
    expect(result).toMatchObject({
      exitCode: 3,
      signal: null,
      timedOut: false,
      stdout: 'out\n',
      stderr: 'err\n',
      stdoutTotalBytes: 4,
      stderrTotalBytes: 4,
      truncated: false,
    })
    expect(Buffer.from(result.stdoutBytes).toString()).toBe('out\n')
    expect(result.durationMs).toBeGreaterThanOrEqual(0)
  })

  it('keeps the ends of what is too long', async () => {
    await session.files.write('long', '漢'.repeat(50_000))
    const result = await session.exec('cat long', { maxOutputBytes: 10 })
    expect(result.stdout).toBe('漢\n[… 149994 bytes left out …]\n漢')
    expect(result).toMatchObject({ truncated: true, stdoutTotalBytes: 150_000, stderr: '' })
    expect(result.stdoutBytes).toHaveLength(10)
    await expect(session.exec('true', { maxOutputBytes: -1 })).rejects.toMatchObject({ code: 'invalid_argument' })
  })

  it('tells of output as it comes, never in the middle of a character', async () => {
    const { data } = source('grüße 🦜')
    const heard: string[] = []
    await session.exec('cat; echo done >&2', {
      stdin: data,
      onOutput: ({ stream, text }) => heard.push(`${stream}: ${text}`),
    })
    const spoken = heard.filter((line) => line.startsWith('stdout: ')).map((line) => line.slice(8))
    expect(spoken.join('')).toBe('grüße 🦜')
    expect(spoken.every((text) => !text.includes('\ufffd'))).toBe(true)
    expect(heard).toContain('stderr: done\n')
  })

  it.each<[string, string | Uint8Array | ReadableStream<Uint8Array>]>([
    ['text', 'some input\n'],
    ['bytes', Buffer.from('some input\n')],
    ['a stream', new Blob(['some ', 'input\n']).stream()],
    ['nothing', ''],
  ])('feeds %s, then end of file', async (what, stdin) => {
    expect((await session.exec('cat', { stdin })).stdout).toBe(what === 'nothing' ? '' : 'some input\n')
  })

  it('ends with its command, not with the input that nobody reads', async () => {
    const endless = source('y\n', true)
    expect(await session.exec('head -n 1', { stdin: endless.data })).toMatchObject({ exitCode: 0, stdout: 'y\n' })
    expect(await endless.left).toBe('let go')

    let cancelled = false
    const silent = new ReadableStream<Uint8Array>({ cancel: () => void (cancelled = true) })
    expect(await session.exec('exit 4', { stdin: silent })).toMatchObject({ exitCode: 4 })
    expect(cancelled).toBe(true)
  })

  it('fails with the source of its input, and ends the command', async () => {
    const failure = new Error('no more')
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('some')
      await setImmediate()
      throw failure
    }
    await expect(session.exec('cat; sleep 100', { stdin: broken() })).rejects.toBe(failure)
    await expect
      .poll(async () => (await session.processes.list()).filter(({ status }) => status === 'running'))
      .toEqual([])
  })

  it('ends the command when its listener throws', async () => {
    const failure = new Error('of the listener')
    const onOutput = (): never => {
      throw failure
    }
    await expect(session.exec('echo one; sleep 100', { onOutput })).rejects.toBe(failure)
  })

  it('is aborted by its signal, and times out with what there is', async () => {
    const controller = new AbortController()
    const running = session.exec('echo started; sleep 100', {
      signal: controller.signal,
      onOutput: () => controller.abort(),
    })
    await expect(running).rejects.toMatchObject({ code: 'aborted' })
    expect(await session.exec('echo part; sleep 100', { timeoutMs: 30 })).toMatchObject({
      timedOut: true,
      stdout: 'part\n',
    })
  })

  it('can be made to throw, with the end of what was said', async () => {
    await expect(session.execOrThrow('echo why >&2; exit 2')).rejects.toMatchObject({
      code: 'exec_failed',
      details: { exitCode: 2, stderrTail: 'why\n', stdoutTail: '' },
    })
    expect((await session.execOrThrow('echo fine')).stdout).toBe('fine\n')
  })
})
