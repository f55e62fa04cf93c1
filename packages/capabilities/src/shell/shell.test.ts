import { describe, expect, it } from 'vitest'
import { BACKENDS, openBench, SECRET } from '../open-session.fixture.js'
import type { Bench, CallResult } from '../open-session.fixture.js'
import { shell } from './shell-capability.js'
import type { ShellOptions } from './shell-capability.js'

const MANIFEST = {
  entries: { 'sub/file.txt': { kind: 'file', text: 'here\n' } },
  environment: { TOKEN: { secret: 'ci/token' } },
} as const

/** Polls until the output or the state is what the test is about; the bound is for a hang, not for timing. */
async function pollUntil(bench: Bench, first: CallResult, wanted: string): Promise<void> {
  let all = String(first.facts.output)
  for (let round = 0; round < 200 && !all.includes(wanted); round++) {
    const last = await bench.call('write_stdin', { process_id: first.facts.processId, yield_time_ms: 50 })
    all += String(last.facts.output)
  }
  expect(all).toContain(wanted)
}

describe.each(BACKENDS)('shell on %s', (_name, plugin) => {
  const open = (options?: ShellOptions): Promise<Bench> => openBench(plugin(), [shell(options)], { manifest: MANIFEST })

  it('runs a command to its end, both streams in one', async () => {
    await using bench = await open({ env: { GREETING: 'hello' } })
    const done = await bench.call('exec_command', {
      command: 'echo "$GREETING"; echo oops >&2; cat file.txt; exit 3',
      workdir: 'sub',
    })
    expect(done.ok).toBe(false)
    expect(done.facts).toMatchObject({
      status: 'ended',
      exitCode: 3,
      signal: null,
      timedOut: false,
      omittedBytes: 0,
      totalBytes: 16,
    })
    expect(String(done.facts.output).split('\n').sort()).toEqual(['', 'hello', 'here', 'oops'])
    expect(done.text).toMatch(/^Exit code 3 after \d+\.\d\d s\.\nOutput:\n/)
    const silent = await bench.call('exec_command', { command: 'true' })
    expect([silent.ok, silent.text.split('\n')[1]]).toEqual([true, 'No output.'])
  })

  it('gives commands that read the end of their input', async () => {
    await using bench = await open()
    const done = await bench.call('exec_command', { command: 'cat; echo over' })
    expect(done.facts).toMatchObject({ exitCode: 0, output: 'over\n' })
  })

  it('answers with what there is when the time to yield is over, and later with the rest alone', async () => {
    await using bench = await open()
    const first = await bench.call('exec_command', {
      command: 'echo one; read line; echo "two $line"; exit 4',
      stdin: true,
      yield_time_ms: 300,
    })
    expect(first.ok).toBe(true)
    expect(first.facts).toMatchObject({ status: 'running', exitCode: null, output: 'one\n' })
    expect(first.text).toContain(`as process ${String(first.facts.processId)}`)
    const process_id = first.facts.processId
    expect((await bench.call('write_stdin', { process_id, yield_time_ms: 0 })).facts.output).toBe('')
    const last = await bench.call('write_stdin', { process_id, chars: 'x\n', yield_time_ms: 20_000 })
    expect(last.facts).toMatchObject({ status: 'ended', exitCode: 4, output: 'two x\n', totalBytes: 10 })
    expect(last.ok).toBe(false)
    expect((await bench.call('write_stdin', { process_id })).facts).toMatchObject({
      status: 'ended',
      exitCode: 4,
      output: '',
    })
    expect((await bench.call('write_stdin', { process_id, chars: 'y\n' })).facts.code).toBe('process_ended')
    expect((await bench.call('read_output', { process_id })).facts).toMatchObject({
      output: 'one\ntwo x\n',
      fromOffset: 0,
      nextOffset: 10,
      droppedBytes: 0,
    })
    expect((await bench.call('read_output', { process_id, offset: 4 })).facts.output).toBe('two x\n')
  })

  it('ends the input when asked to, and says when there is none', async () => {
    await using bench = await open()
    const cat = await bench.call('exec_command', { command: 'cat', stdin: true, yield_time_ms: 0 })
    const done = await bench.call('write_stdin', {
      process_id: cat.facts.processId,
      chars: 'a\nb',
      end: true,
      yield_time_ms: 20_000,
    })
    expect(done.facts).toMatchObject({ status: 'ended', exitCode: 0, output: 'a\nb' })
    const deaf = await bench.call('exec_command', { command: 'sleep 60', yield_time_ms: 0 })
    expect((await bench.call('write_stdin', { process_id: deaf.facts.processId, chars: 'a' })).facts.code).toBe(
      'stdin_closed',
    )
    expect((await bench.call('write_stdin', { process_id: 'nobody' })).facts.code).toBe('not_found')
  })

  it('does not wait for a command that takes no input', async () => {
    await using bench = await open()
    const deaf = await bench.call('exec_command', { command: 'sleep 60', stdin: true, yield_time_ms: 0 })
    const process_id = deaf.facts.processId
    let last: CallResult | undefined
    // A pipe takes some before it is full.
    for (let round = 0; round < 40 && last?.facts.code !== 'input_not_taken'; round++) {
      last = await bench.call('write_stdin', { process_id, chars: 'x'.repeat(200_000), yield_time_ms: 20 })
    }
    expect(last?.facts.code).toBe('input_not_taken')
    expect((await bench.call('write_stdin', { process_id, chars: '\x03', yield_time_ms: 20_000 })).facts.status).toBe(
      'ended',
    )
  })

  it('makes Ctrl-C a signal for everything the command started', async () => {
    await using bench = await open()
    // A loop, because a shell that is just about to replace itself by its last command loses an interrupt.
    const loop = 'echo set; while true; do sleep 0.05; done'
    const plain = await bench.call('exec_command', { command: loop, yield_time_ms: 0 })
    await pollUntil(bench, plain, 'set')
    const interrupted = await bench.call('write_stdin', {
      process_id: plain.facts.processId,
      chars: '\x03',
      yield_time_ms: 20_000,
    })
    expect(interrupted.facts).toMatchObject({ status: 'ended' })
    expect(interrupted.facts.exitCode === 130 || interrupted.facts.signal === 'SIGINT').toBe(true)
    const stubborn = await bench.call('exec_command', {
      command: `trap 'echo caught' INT; echo set; sleep 1; sleep 60`,
      yield_time_ms: 0,
    })
    const process_id = stubborn.facts.processId
    await pollUntil(bench, stubborn, 'set')
    await pollUntil(bench, await bench.call('write_stdin', { process_id, chars: '\x03', yield_time_ms: 0 }), 'caught')
    const killed = await bench.call('kill_process', { process_id })
    expect(killed.ok).toBe(true)
    expect(killed.facts.status).toBe('ended')
  })

  it('kills what does not end when it is asked to', async () => {
    await using bench = await open()
    const stubborn = await bench.call('exec_command', {
      command: `trap '' TERM; echo set; while true; do sleep 0.2; done`,
      yield_time_ms: 0,
    })
    const process_id = stubborn.facts.processId
    await pollUntil(bench, stubborn, 'set')
    const killed = await bench.call('kill_process', { process_id })
    expect(killed.facts).toMatchObject({ status: 'ended', signal: 'SIGKILL' })
    expect((await bench.call('kill_process', { process_id: 'nobody' })).facts.code).toBe('not_found')
  })

  it('reports a timeout with what came before', async () => {
    await using bench = await open({ defaultTimeoutMs: 500 })
    const done = await bench.call('exec_command', { command: 'echo begun; sleep 60', yield_time_ms: 60_000 })
    expect(done.ok).toBe(false)
    expect(done.facts).toMatchObject({ status: 'ended', timedOut: true, output: 'begun\n' })
    expect(done.text).toContain('Ran out of its time')
  })

  it('lets background commands run until its run ends, and lists what runs', async () => {
    await using bench = await open({ defaultTimeoutMs: 500 })
    const other = await bench.session.spawn('echo other; sleep 60', { background: true })
    const server = await bench.call('exec_command', { command: 'echo serving; sleep 60', background: true })
    const failing = await bench.call('exec_command', { command: 'exit 7', background: true, yield_time_ms: 20_000 })
    expect(failing.facts.exitCode).toBe(7)
    const process_id = String(server.facts.processId)
    await pollUntil(bench, server, 'serving')
    const { facts } = await bench.call('list_processes', {})
    expect(facts.processes).toEqual([
      {
        processId: process_id,
        command: 'echo serving; sleep 60',
        status: 'running',
        unreadBytes: 0,
        exitCode: null,
        signal: null,
        timedOut: false,
      },
      expect.objectContaining({ processId: failing.facts.processId, status: 'ended', exitCode: 7 }),
      expect.objectContaining({
        processId: other.id,
        command: 'echo other; sleep 60',
        status: 'running',
        unreadBytes: null,
      }),
    ])
    expect((await bench.call('read_output', { process_id: other.id })).facts.status).toBe('running')
    await bench.unbind()
    const after = await bench.session.processes.list()
    expect(after.find(({ id }) => id === process_id)?.status ?? 'ended').toBe('ended')
    expect(after.find(({ id }) => id === other.id)?.status).toBe('running')
    await expect(bench.call('exec_command', { command: 'true' })).rejects.toMatchObject({ code: 'not_running' })
    await other.kill()
  })

  it('keeps the ends of long output and counts all of it', async () => {
    await using bench = await open({ maxOutputBytes: 4_096 })
    const count = `i=0; while [ $i -lt 2000 ]; do echo "line $i"; i=$((i+1)); done`
    const done = await bench.call('exec_command', { command: count, yield_time_ms: 60_000 })
    const totalBytes = Array.from({ length: 2_000 }, (_, index) => `line ${index}\n`).join('').length
    const output = String(done.facts.output)
    expect(done.facts).toMatchObject({ exitCode: 0, totalBytes })
    expect(Buffer.byteLength(output)).toBeLessThanOrEqual(4_096)
    const [, head, left, tail] = /^([^]*)\[… (\d+) bytes, \d+ lines left out …\]\n([^]*)$/.exec(output) ?? []
    expect([head?.startsWith('line 0\nline 1\n'), tail?.endsWith('line 1998\nline 1999\n')]).toEqual([true, true])
    expect(Number(left) + (head ?? '').length + (tail ?? '').length).toBe(totalBytes)
    expect(done.facts.omittedBytes).toBe(Number(left))
    const small = await bench.call('exec_command', { command: 'cat sub/file.txt', max_output_bytes: 256 })
    expect(small.facts.output).toBe('here\n')

    const process_id = done.facts.processId
    let [offset, again] = [0, '']
    for (;;) {
      const part = await bench.call('read_output', { process_id, offset })
      if (part.facts.output === '') break
      again += String(part.facts.output)
      offset = Number(part.facts.nextOffset)
    }
    expect([again.length, again.endsWith('line 1999\n')]).toEqual([totalBytes, true])
  })

  it('masks a secret that lies across the edge of what is shown', async () => {
    await using bench = await open()
    const lead = 'x'.repeat(250)
    const process = await bench.session.spawn(`: ${'c'.repeat(190)} '${SECRET}'; printf '%s' "${lead}$TOKEN tail"`, {
      background: true,
    })
    await Promise.all([process.stdout.cancel(), process.stderr.cancel()])
    await process.wait()
    const own = await bench.call('exec_command', {
      command: `: ${'c'.repeat(190)} '${SECRET}'; printf '%s' "${lead}$TOKEN tail"`,
    })
    const listed = await bench.call('list_processes', {})
    const reads = []
    for (const process_id of [process.id, own.facts.processId]) {
      for (const offset of [0, 5, 252, 255]) {
        reads.push(await bench.call('read_output', { process_id, offset, max_output_bytes: 256 }))
      }
    }
    const said = JSON.stringify([listed, reads.map(({ text, data }) => [text, data])])
    for (const part of [SECRET.slice(1), SECRET.slice(-6), SECRET.slice(0, 6)]) expect(said).not.toContain(part)
    expect(reads.every(({ text }) => text.includes('[redacted]'))).toBe(true)
  })

  it('masks secrets, also one that comes in two pieces', async () => {
    await using bench = await open()
    const printed = await bench.call('exec_command', { command: 'echo "token: $TOKEN"; echo "$TOKEN" >&2' })
    expect(printed.facts.output).toContain('token: [redacted]')
    const half = Math.floor(SECRET.length / 2)
    const command = `printf '%s' '${SECRET.slice(0, half)}'; read x; printf '%s\\n' '${SECRET.slice(half)} after'`
    const first = await bench.call('exec_command', { command, stdin: true, yield_time_ms: 300 })
    const rest = await bench.call('write_stdin', {
      process_id: first.facts.processId,
      chars: '\n',
      yield_time_ms: 20_000,
    })
    expect(rest.facts.output).toBe('[redacted] after\n')
    const missing = await bench.call('exec_command', { command: 'true', workdir: SECRET })
    const listed = await bench.call('list_processes', {})
    expect(missing.ok).toBe(false)
    expect(JSON.stringify([printed, rest, missing, listed])).not.toContain(SECRET)
  })

  it('does not split a character between two answers', async () => {
    await using bench = await open()
    const first = await bench.call('exec_command', {
      command: `printf 'a\\303'; read x; printf '\\251b\\n'`,
      stdin: true,
      yield_time_ms: 300,
    })
    const rest = await bench.call('write_stdin', {
      process_id: first.facts.processId,
      chars: '\n',
      yield_time_ms: 20_000,
    })
    expect([first.facts.output, rest.facts.output]).toEqual(['a', 'éb\n'])
  })

  it('answers when the command has ended, not when what it left behind has, and ends that with the run', async () => {
    await using bench = await open()
    const done = await bench.call('exec_command', { command: 'sleep 60 & echo $!', yield_time_ms: 30_000 })
    expect(done.facts).toMatchObject({ status: 'ended', exitCode: 0 })
    const alive = `kill -0 ${String(done.facts.output).trim()}`
    expect((await bench.session.exec(alive)).exitCode).toBe(0)
    await bench.unbind()
    // Dead is not yet gone: for `kill -0` a process is there until its parent has asked how it ended.
    const gone = async (): Promise<boolean> => (await bench.session.exec(alive)).exitCode !== 0
    await expect.poll(gone, { timeout: 10_000, interval: 20 }).toBe(true)
  })

  it('is not filled by a command that never stops writing', async () => {
    await using bench = await open()
    const flood = `while true; do echo ${'x'.repeat(500)}; done`
    const first = await bench.call('exec_command', { command: flood, yield_time_ms: 1_500, max_output_bytes: 1_024 })
    expect(first.facts.status).toBe('running')
    expect(Number(first.facts.totalBytes)).toBeGreaterThan(10_000)
    expect(Buffer.byteLength(first.text)).toBeLessThan(2_048)
    const last = await bench.call('kill_process', { process_id: first.facts.processId, signal: 'SIGKILL' })
    expect(last.facts.status).toBe('ended')
    expect(Buffer.byteLength(JSON.stringify(last))).toBeLessThan(200_000)
  })

  it('ends the command of a call that is aborted', async () => {
    await using bench = await open()
    const stop = new AbortController()
    const events: string[] = []
    const over = new Promise<void>((resolve) => {
      bench.session.onEvent(({ type }) => {
        events.push(type)
        if (type === 'exec.started') stop.abort()
        if (type === 'exec.ended') resolve()
      })
    })
    await expect(bench.call('exec_command', { command: 'sleep 60' }, stop.signal)).rejects.toMatchObject({
      code: 'aborted',
    })
    await over
    expect(events).toContain('exec.ended')
  })

  it('refuses directories outside and what the rules do not allow', async () => {
    const asked: unknown[] = []
    await using bench = await open({
      approval: (text, call) => {
        asked.push([text, call])
        return text.includes('rm') ? 'deny' : text.includes('echo') ? 'never' : 'ask'
      },
    })
    for (const workdir of ['/etc', '../..', 'sub/../../..']) {
      expect((await bench.call('exec_command', { command: 'echo', workdir })).facts.code).toBe('path_escape')
    }
    await expect(bench.call('exec_command', { command: 'rm -rf .' })).rejects.toMatchObject({ code: 'approval_denied' })
    await expect(bench.tool('exec_command').execute({ command: 'ls' })).rejects.toMatchObject({
      code: 'approval_required',
    })
    const interactive = await bench.call('exec_command', { command: 'cat # echo', stdin: true, yield_time_ms: 0 })
    const process_id = interactive.facts.processId
    await expect(bench.call('write_stdin', { process_id, chars: 'rm\n' })).rejects.toMatchObject({
      code: 'approval_denied',
    })
    expect(bench.tool('write_stdin').approvalFor({ process_id })).toBe('never')
    expect(bench.tool('write_stdin').approvalFor({ process_id, chars: '\x03' })).toBe('never')
    expect(bench.tool('write_stdin').approvalFor({ process_id, chars: 'ls\n' })).toBe('ask')
    expect(asked.at(-1)).toEqual(['ls\n', { tool: 'write_stdin', workdir: null, tty: false, background: false }])
  })

  it('keeps the number of commands that run within a bound', async () => {
    await using bench = await open()
    const calls = Array.from({ length: 33 }, () =>
      bench.call('exec_command', { command: 'sleep 60', yield_time_ms: 0 }),
    )
    const codes = (await Promise.all(calls)).map(({ facts }) => facts.code ?? facts.status)
    expect(codes.filter((code) => code === 'running').length).toBeLessThanOrEqual(33)
    expect((await bench.call('exec_command', { command: 'true' })).facts.code).toBe('quota_exceeded')
  })

  it('uses a terminal where there is one, and says so where there is none', async () => {
    await using bench = await open()
    const started = await bench.call('exec_command', {
      command: 'test -t 0 && echo terminal; cat',
      tty: true,
      yield_time_ms: 0,
    })
    if (!bench.session.features.tty) {
      expect(started.facts.code).toBe('unsupported_feature')
      return
    }
    const process_id = started.facts.processId
    await pollUntil(bench, started, 'terminal')
    await bench.call('write_stdin', { process_id, chars: 'typed\n' })
    const interrupted = await bench.call('write_stdin', { process_id, chars: '\x03', yield_time_ms: 20_000 })
    expect(interrupted.facts.status).toBe('ended')
    expect((await bench.call('read_output', { process_id })).facts.output).toMatch(/typed\r\ntyped\r\n/)
  })
})

describe('shell options', () => {
  it.each([{ maxOutputBytes: 10 }, { defaultTimeoutMs: -1 }, { defaultTimeoutMs: 1.5 }])('refuses %o', (options) => {
    expect(() => shell(options)).toThrow(TypeError)
  })
})
