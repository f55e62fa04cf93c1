import { createHash } from 'node:crypto'
import { assertBytes, assertEqual, assertIncludes, assertTrue } from '../../assertions.js'
import { backendCases } from '../../backend-case.js'
import type { BackendCase } from '../../backend-case.js'
import { readBytes } from '../../backend-context.js'

const MEBIBYTE = 1 << 20

export const OUTPUT_CASES: readonly BackendCase[] = backendCases('exec', [
  [
    'EXEC-1',
    'output.computed',
    'really computes: the digest of a random text comes from a command',
    async (context) => {
      const sandbox = await context.sandbox()
      const seen = await context.output(sandbox, `printf %s ${context.nonce} | sha256sum`)
      assertIncludes(seen, createHash('sha256').update(context.nonce).digest('hex'), 'output of sha256sum')
    },
  ],
  [
    'EXEC-2',
    'output.apart',
    'keeps stdout and stderr apart',
    async (context) => {
      const script = `echo out-${context.nonce}; echo err-${context.nonce} >&2; echo out2; echo err2 >&2`
      const result = await context.run(await context.sandbox(), script)
      assertEqual(result.stdout, `out-${context.nonce}\nout2\n`, 'stdout')
      assertEqual(result.stderr, `err-${context.nonce}\nerr2\n`, 'stderr')
    },
  ],
  [
    'EXEC-2',
    'output.empty',
    'ends both streams of a command that says nothing',
    async (context) => {
      const result = await context.run(await context.sandbox(), ['true'])
      assertEqual([result.stdout, result.stderr, result.exitCode], ['', '', 0], 'output and exit of true')
    },
  ],
  [
    'EXEC-3',
    'output.all-bytes',
    'gives every byte from 0 to 255 as it is',
    async (context) => {
      const octal = Array.from({ length: 256 }, (_, byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')
      const result = await context.run(await context.sandbox(), `printf '${octal}'`)
      assertBytes(
        result.stdoutBytes,
        Uint8Array.from({ length: 256 }, (_, byte) => byte),
        'bytes of stdout',
      )
    },
  ],
  [
    'EXEC-3',
    'output.without-newline',
    'neither adds nor takes a newline at the end',
    async (context) => {
      const sandbox = await context.sandbox()
      assertEqual(await context.output(sandbox, `printf a`), 'a', 'without newline')
      assertEqual(await context.output(sandbox, `printf 'a\\n\\n'`), 'a\n\n', 'with two')
    },
  ],
  [
    'EXEC-4',
    'output.large',
    'gives 16 MiB without loss',
    async (context) => {
      const line = `${context.nonce}-0123456789012345678901234567890123456789012345678\n`
      const sizeBytes = 16 * MEBIBYTE
      const result = await context.run(await context.sandbox(), `yes ${line.trim()} | head -c ${sizeBytes}`)
      assertEqual(result.stdoutBytes.length, sizeBytes, 'bytes of stdout')
      const expected = createHash('sha256')
      const block = Buffer.from(line.repeat(1_024))
      for (let left = sizeBytes; left > 0; left -= block.length) expected.update(block.subarray(0, left))
      assertEqual(
        createHash('sha256').update(result.stdoutBytes).digest('hex'),
        expected.digest('hex'),
        'digest of stdout',
      )
    },
  ],
  [
    'EXEC-4',
    'output.large-stderr',
    'gives large stderr and stdout at once without one blocking the other',
    async (context) => {
      const sizeBytes = 2 * MEBIBYTE
      const script = `(yes e | head -c ${sizeBytes}) >&2 & yes o | head -c ${sizeBytes}; wait`
      const result = await context.run(await context.sandbox(), script)
      assertEqual([result.stdout.length, result.stderr.length], [sizeBytes, sizeBytes], 'sizes')
      assertTrue(!result.stdout.includes('e') && !result.stderr.includes('o'), 'nothing is on the wrong stream')
    },
  ],
  [
    'EXEC-5',
    'output.back-pressure',
    'blocks a command whose output nobody reads, and loses nothing when somebody does',
    async (context) => {
      const sandbox = await context.sandbox()
      const sizeBytes = 8 * MEBIBYTE
      const process = await context.spawn(sandbox, `yes x | head -c ${sizeBytes}; echo done > done`)
      const errors = context.meanwhile(new Response(process.stderr).text())
      const first = process.stdout.getReader()
      const chunk = await context.within('a first chunk', first.read())
      await new Promise((resolve) => setTimeout(resolve, 200))
      const done = await sandbox.files.stat(`${sandbox.paths.workspace}/done`)
      assertEqual(done, undefined, 'the file that is made when all is written, while nobody reads')
      first.releaseLock()
      const rest = await context.within('the rest', readBytes(process.stdout), 60_000)
      assertEqual((chunk.value?.length ?? 0) + rest.length, sizeBytes, 'bytes of stdout')
      assertEqual((await process.wait()).exitCode, 0, 'exit code')
      assertEqual(await errors, '', 'stderr')
    },
  ],
  [
    'EXEC-5',
    'output.cancelled',
    'lets a command go on whose output is not wanted',
    async (context) => {
      const sandbox = await context.sandbox()
      const process = await context.spawn(
        sandbox,
        `yes x | head -c ${2 * MEBIBYTE}; echo ${context.nonce} > done; exit 4`,
      )
      await Promise.all([process.stdout.cancel(), process.stderr.cancel()])
      const exit = await context.within('the end', process.wait(), 60_000)
      assertEqual(exit.exitCode, 4, 'exit code')
      assertEqual(await context.output(sandbox, 'cat done'), `${context.nonce}\n`, 'what it wrote last')
    },
  ],
  [
    'EXEC-6',
    'output.live',
    'gives output while the command runs',
    async (context) => {
      const sandbox = await context.sandbox()
      const process = await context.spawn(sandbox, `echo ${context.nonce}; read line; echo "$line"`, { stdin: 'pipe' })
      const reader = process.stdout.getReader()
      const first = await context.within('the first line', reader.read())
      assertEqual(new TextDecoder().decode(first.value), `${context.nonce}\n`, 'the first line')
      await context.send(process, 'second\n')
      const second = await context.within('the second line', reader.read())
      assertEqual(new TextDecoder().decode(second.value), 'second\n', 'the second line')
      assertEqual((await context.within('the end', reader.read())).done, true, 'end of the stream')
    },
  ],
  [
    'EXEC-7',
    'output.lingering',
    'ends the streams with the command, although a child that it left holds them open',
    async (context) => {
      const sandbox = await context.sandbox()
      const process = await context.spawn(sandbox, `sleep 60 & echo ${context.nonce}`)
      const output = await context.within('the end of stdout', new Response(process.stdout).text())
      assertEqual(output, `${context.nonce}\n`, 'stdout')
      await context.within('the end of stderr', process.stderr.cancel())
      assertEqual((await context.within('the end', process.wait())).exitCode, 0, 'exit code')
      await process.kill()
    },
  ],
  [
    'EXEC-8',
    'attach.ring',
    'keeps the output of a background command for who attaches later',
    async (context) => {
      const sandbox = await context.sandbox()
      const process = await context.spawn(sandbox, `echo one-${context.nonce}; read line; echo two`, {
        background: true,
        stdin: 'pipe',
        timeoutMs: 0,
      })
      await Promise.all([process.stdout.cancel(), process.stderr.cancel()])
      const text = `one-${context.nonce}\n`
      await context.eventually('the first line in the ring', async () => {
        const attached = await sandbox.attach(process.id)
        await attached.process[Symbol.asyncDispose]()
        return attached.availableBytes === text.length
      })
      const attached = await sandbox.attach(process.id, { fromOffset: 4 })
      context.defer(async () => attached.process[Symbol.asyncDispose]())
      assertEqual([attached.firstOffset, attached.droppedBytes], [4, 0], 'offset and dropped bytes')
      const rest = context.meanwhile(new Response(attached.process.stdout).text())
      await context.send(process, 'go\n')
      assertEqual(
        await context.within('the end of the attached stream', rest),
        `${text.slice(4)}two\n`,
        'what it gives',
      )
      assertEqual((await attached.process.wait()).exitCode, 0, 'exit code by the attached handle')
    },
  ],
  [
    'EXEC-8',
    'attach.both-streams',
    'gives stdout and stderr together to who attaches, with offsets over both',
    async (context) => {
      const sandbox = await context.sandbox()
      const process = await context.spawn(sandbox, 'echo out; echo err >&2; exit 3', { background: true })
      await Promise.all([process.stdout.cancel(), process.stderr.cancel(), process.wait()])
      const attached = await sandbox.attach(process.id)
      const text = await context.within('the ring', new Response(attached.process.stdout).text())
      assertEqual(text.split('\n').sort(), ['', 'err', 'out'], 'lines of both')
      assertEqual(attached.availableBytes, 8, 'availableBytes')
      assertEqual((await attached.process.wait()).exitCode, 3, 'exit code')
    },
  ],
  [
    'EXEC-8',
    'attach.dropped',
    'says how much of a long output is gone, and gives the end of it',
    async (context) => {
      const sandbox = await context.sandbox()
      const sizeBytes = 24 * MEBIBYTE
      const script = `yes ${context.nonce} | head -c ${sizeBytes}; printf the-end`
      const process = await context.spawn(sandbox, script, { background: true, timeoutMs: 0 })
      await Promise.all([process.stdout.cancel(), process.stderr.cancel()])
      await context.within('the end', process.wait(), 60_000)
      const attached = await sandbox.attach(process.id, { fromOffset: 0 })
      const kept = await context.within('the ring', readBytes(attached.process.stdout))
      const all = sizeBytes + 'the-end'.length
      assertEqual(attached.droppedBytes, attached.firstOffset, 'dropped bytes from offset 0')
      assertEqual(attached.firstOffset + kept.length, all, 'first offset and what is kept, together')
      assertTrue(kept.length < all, 'the ring is bounded')
      assertEqual(new TextDecoder().decode(kept.slice(-7)), 'the-end', 'the last bytes')
    },
  ],
  [
    'EXEC-8',
    'attach.disposal',
    'leaves the command alone when an attached handle is cancelled and disposed',
    async (context) => {
      const sandbox = await context.sandbox()
      const process = await context.spawn(sandbox, 'sleep 60', { background: true, timeoutMs: 0 })
      const attached = await sandbox.attach(process.id)
      await attached.process.stdout.cancel()
      await attached.process[Symbol.asyncDispose]()
      const info = (await sandbox.processes()).find((each) => each.id === process.id)
      assertEqual(info?.status, 'running', 'status after disposal of the attached handle')
      await process.kill()
    },
  ],
])
