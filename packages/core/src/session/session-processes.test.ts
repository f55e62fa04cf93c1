import fc from 'fast-check'
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

/** Nobody reads its streams: what it writes goes to where `readOutput` finds it. */
async function start(command: string): Promise<string> {
  const process = await session.spawn(command, { background: true, stdin: 'pipe' })
  await Promise.all([process.stdout.cancel(), process.stderr.cancel()])
  return process.id
}
const processes = (): SandboxSession['processes'] => session.processes

describe('background processes', () => {
  it('are listed and found; commands of exec are not among them', async () => {
    const id = await start('sleep 100')
    await session.exec('true')
    expect((await processes().list()).map((info) => info.id)).toEqual([id])
    expect(await processes().get(id)).toMatchObject({ status: 'running', exit: null, background: true })
    await processes().kill(id)
    await expect.poll(async () => (await processes().get(id)).status).toBe('ended')
    await processes().kill(id)
    for (const use of [
      processes().get('x'),
      processes().kill('x'),
      processes().readOutput('x'),
      processes().writeInput('x', ''),
    ]) {
      await expect(use).rejects.toMatchObject({ code: 'not_found' })
    }
  })

  it('give their output from where it was left, and their exit with the last of it', async () => {
    const id = await start('read a; echo "got $a"; echo err >&2; read b; echo "then $b"; exit 5')
    await processes().writeInput(id, 'one\n')
    let [text, offset] = ['', 0]
    for (let exit = null; exit === null;) {
      const read = await processes().readOutput(id, { fromOffset: offset, waitMs: 10_000 })
      expect(read.fromOffset).toBe(offset)
      expect(read.droppedBytes).toBe(0)
      text += read.text
      offset = read.nextOffset
      exit = read.exit
      if (text.endsWith('err\n')) await processes().writeInput(id, Buffer.from('two\n'), { end: true })
      if (exit !== null) expect(exit).toMatchObject({ exitCode: 5 })
    }
    expect(text).toBe('got one\nerr\nthen two\n')
    expect((await processes().readOutput(id)).text).toBe(text)
    expect(await processes().readOutput(id, { fromOffset: 4, maxBytes: 3 })).toMatchObject({
      text: 'one',
      nextOffset: 7,
    })
    expect(await processes().readOutput(id, { fromOffset: offset, waitMs: 60_000 })).toMatchObject({
      text: '',
      nextOffset: offset,
      exit: { exitCode: 5 },
    })
  })

  it('are waited for no longer than asked, and not at all by default', async () => {
    const id = await start('sleep 100')
    expect(await processes().readOutput(id)).toMatchObject({ text: '', exit: null, nextOffset: 0 })
    const startedMs = performance.now()
    expect(await processes().readOutput(id, { waitMs: 50 })).toMatchObject({ text: '', exit: null })
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(45)
    const controller = new AbortController()
    const waiting = processes().readOutput(id, { waitMs: 60_000, signal: controller.signal })
    setImmediate(() => controller.abort())
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' })
    for (const options of [{ waitMs: -1 }, { maxBytes: 0.5 }, { fromOffset: -1 }]) {
      await expect(processes().readOutput(id, options)).rejects.toMatchObject({ code: 'invalid_argument' })
    }
    await processes().kill(id)
  })

  it('have their text read in pieces of any size without a broken character', async () => {
    const whole = 'a漢🦜é\n'.repeat(40)
    await session.files.write('text', whole)
    const id = await start('cat text')
    await expect.poll(async () => (await processes().get(id)).status).toBe('ended')
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 4, max: 70 }), async (maxBytes) => {
        let text = ''
        for (let offset = 0; offset < Buffer.byteLength(whole);) {
          const read = await processes().readOutput(id, { fromOffset: offset, maxBytes })
          expect(read.nextOffset).toBeGreaterThan(offset)
          offset = read.nextOffset
          text += read.text
        }
        expect(text).toBe(whole)
      }),
      { numRuns: 20 },
    )
  })

  it('say how much of their output is gone, and go on at a whole character', async () => {
    await session.files.write('large', '漢'.repeat(1_000_000))
    const id = await start('cat large')
    await expect.poll(async () => (await processes().get(id)).status).toBe('ended')
    const read = await processes().readOutput(id, { fromOffset: 0, maxBytes: 10 })
    expect(read).toMatchObject({ text: '漢漢漢', fromOffset: read.droppedBytes, nextOffset: read.fromOffset + 9 })
    expect(read.droppedBytes).toBeGreaterThan(0)
    expect(read.droppedBytes % 3).toBe(0)
  })

  it('take input in order, until they have ended or closed it', async () => {
    const id = await start('cat')
    await Promise.all([
      processes().writeInput(id, '1'),
      processes().writeInput(id, '2'),
      processes().writeInput(id, '3'),
    ])
    await processes().writeInput(id, '', { end: true })
    await expect.poll(async () => (await processes().readOutput(id)).exit).toMatchObject({ exitCode: 0 })
    expect((await processes().readOutput(id)).text).toBe('123')
    const deaf = (await session.spawn('sleep 100', { background: true })).id
    for (const without of [id, deaf]) {
      await expect(processes().writeInput(without, 'more')).rejects.toMatchObject({ code: 'invalid_argument' })
    }
    await processes().kill(deaf)
  })
})
