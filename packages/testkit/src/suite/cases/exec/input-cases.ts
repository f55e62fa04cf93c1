import { createHash, randomBytes } from 'node:crypto'
import { assertBytes, assertCode, assertEqual, assertIncludes, assertTrue } from '../../assertions.js'
import { backendCases } from '../../backend-case.js'
import type { BackendCase } from '../../backend-case.js'
import { bytesOf } from '../../backend-context.js'

/** What no shell may ever see: each would leave a trace if one did. */
const METACHARACTERS: readonly string[] = [
  '$(touch canary)',
  '`touch canary`',
  '; touch canary',
  '| touch canary',
  '&& touch canary',
  '& touch canary &',
  '\n touch canary \n',
  '> canary',
  '${HOME}',
  '$HOME',
  '*',
  '?',
  '[a-z]',
  '~',
  '~root',
  '{a,b}',
  '!!',
  '#not a comment',
  '\\',
  '\\n',
  "'",
  '"',
  `'"'"'`,
  `"'"`,
  ' leading and trailing ',
  '\t',
  '\r\n',
  '',
  '-n',
  '--',
  '--help',
  '-rf /',
  '%s%n',
  '\x1b[31m',
  '\x7f',
  'ä€𝄞',
  'e\u0301',
  '\u202e',
  '\ufeff',
  '<<EOF',
  '$((1+1))',
  '$$',
  '$?',
  '(exit 3)',
  '=a',
  'A=B',
]

export const INPUT_CASES: readonly BackendCase[] = backendCases('exec', [
  [
    'EXEC-20',
    'stdin.closed',
    'gives end of file at once to a command that reads, when no input was asked for',
    async (context) => {
      const sandbox = await context.sandbox()
      const result = await context.run(sandbox, 'cat; echo end', { timeoutMs: 20_000 })
      assertEqual([result.stdout, result.timedOut], ['end\n', false], 'output of cat, and whether it hung')
      const process = await context.spawn(sandbox, 'true')
      let refused = false
      await process.stdin
        .getWriter()
        .write(bytesOf('x'))
        .catch(() => (refused = true))
      assertTrue(refused, 'the stream is closed for writing')
    },
  ],
  [
    'EXEC-21',
    'stdin.bytes',
    'gives a command every byte of its input and then the end',
    async (context) => {
      const input = randomBytes(3 << 20)
      const sandbox = await context.sandbox()
      const result = await context.run(sandbox, ['cat'], { input })
      assertBytes(result.stdoutBytes, input, 'what cat gives back')
      const digest = await context.output(sandbox, 'sha256sum', { input })
      assertIncludes(digest, createHash('sha256').update(input).digest('hex'), 'digest of the input')
    },
  ],
  [
    'EXEC-22',
    'stdin.half-close',
    'lets a command go on writing after its input was closed',
    async (context) => {
      const result = await context.run(await context.sandbox(), 'wc -c; sleep 0.05; echo after', { input: 'four' })
      assertEqual(result.stdout.trim().split(/\s+/), ['4', 'after'], 'output before and after the end of input')
    },
  ],
  [
    'EXEC-23',
    'stdin.back-pressure',
    'makes a writer wait for a command that does not read',
    async (context) => {
      const sandbox = await context.sandbox()
      const process = await context.spawn(sandbox, 'while [ ! -e go ]; do sleep 0.02; done; cat | wc -c', {
        stdin: 'pipe',
      })
      const writer = process.stdin.getWriter()
      const output = context.meanwhile(new Response(process.stdout).text())
      const chunk = new Uint8Array(1 << 20)
      let written = 0
      const writeAll = async (): Promise<void> => {
        for (let i = 0; i < 8; i++) {
          await writer.ready
          await writer.write(chunk)
          written++
        }
        await writer.close()
      }
      const feed = context.meanwhile(writeAll())
      await new Promise((resolve) => setTimeout(resolve, 150))
      assertTrue(written < 8, 'not everything is taken before the command reads')
      await sandbox.files.write(`${sandbox.paths.workspace}/go`, new Uint8Array(0))
      await context.within('the writer', feed, 60_000)
      assertEqual((await context.within('the output', output)).trim(), String(8 << 20), 'bytes that the command read')
    },
  ],
  [
    'EXEC-24',
    'stdin.early-exit',
    'does not hang or crash when a command ends without reading its input',
    async (context) => {
      const result = await context.run(await context.sandbox(), 'exit 3', { input: new Uint8Array(1 << 20) })
      assertEqual(result.exitCode, 3, 'exit code')
    },
  ],
  [
    'EXEC-25',
    'argv.untouched',
    'gives each argument of a vector to the program as it is',
    async (context) => {
      const sandbox = await context.sandbox()
      const result = await context.run(sandbox, ['printf', '%s\\001', ...METACHARACTERS])
      assertEqual(
        result.stdout,
        METACHARACTERS.map((text) => `${text}\x01`).join(''),
        'arguments as the program sees them',
      )
      for (const text of METACHARACTERS) {
        const single = await context.run(sandbox, ['printf', '%s', text])
        assertEqual(single.stdout, text, `the argument ${JSON.stringify(text)} alone`)
      }
      const left = []
      for await (const entry of sandbox.files.list(sandbox.paths.workspace)) left.push(entry.name)
      assertEqual(left, [], 'what is in the workspace afterwards')
    },
  ],
  [
    'EXEC-25',
    'argv.program-with-spaces',
    'finds a program whose path has spaces and quotes',
    async (context) => {
      const sandbox = await context.sandbox()
      const path = `${sandbox.paths.workspace}/a 'program' $(x)`
      await sandbox.files.write(path, bytesOf(`#!/bin/sh\necho ran "$1"\n`), { mode: 0o755 })
      assertEqual(await context.output(sandbox, [path, context.nonce]), `ran ${context.nonce}\n`, 'its output')
    },
  ],
  [
    'EXEC-26',
    'argv.bytes',
    'gives arguments that are not UTF-8 as their bytes, or refuses them; it never changes them',
    async (context) => {
      const sandbox = await context.sandbox()
      const run = context.run(sandbox, ['printf', '%s', 'a\udcff\udc80b'])
      const result = await run.catch(() => undefined)
      if (result === undefined) {
        return assertCode(run, ['invalid_argument', 'unsupported_feature'], 'an argument that is not UTF-8')
      }
      assertBytes(result.stdoutBytes, Uint8Array.of(0x61, 0xff, 0x80, 0x62), 'bytes of the argument')
    },
  ],
  [
    'EXEC-27',
    'shell.posix',
    'runs a string by sh -c, not as a login shell',
    async (context) => {
      const sandbox = await context.sandbox()
      await sandbox.files.write(`${sandbox.paths.workspace}/.profile`, bytesOf('echo profile'))
      const env = { HOME: sandbox.paths.workspace, ENV: '' }
      const script = 'x=$(printf a | tr a b); if [ "$x" = b ]; then echo "$x$x"; fi; for i in 1 2; do echo $i; done'
      assertEqual(await context.output(sandbox, script, { env }), 'bb\n1\n2\n', 'output of the script')
      assertEqual(await context.output(sandbox, '', { env }), '', 'output of an empty script')
      assertEqual(await context.output(sandbox, '\n\n', { env }), '', 'output of newlines')
    },
  ],
  [
    'EXEC-28',
    'shell.long',
    'runs a script of 96 KiB',
    async (context) => {
      const script = `: ${'x'.repeat(96 * 1024)}; echo ${context.nonce}`
      assertEqual(await context.output(await context.sandbox(), script), `${context.nonce}\n`, 'output')
    },
  ],
  [
    'EXEC-30',
    'env.exact',
    "gives a command the sandbox's and the request's variables, and nothing of the host",
    async (context) => {
      const canary = `COFFERDAM_HOST_CANARY_${context.nonce}`
      process.env[canary] = 'leaked'
      context.defer(async () => void delete process.env[canary])
      const environment = { ...context.request().environment, BASE: `base-${context.nonce}`, REPLACED: 'old' }
      const sandbox = await context.sandbox({ environment })
      const output = await context.output(sandbox, ['env'], { env: { REPLACED: 'new', ADDED: 'a b$c"' } })
      const seen = new Map(
        output
          .trimEnd()
          .split('\n')
          .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
      )
      const expected = { ...environment, REPLACED: 'new', ADDED: 'a b$c"' }
      for (const [name, value] of Object.entries(expected)) assertEqual(seen.get(name), value, `variable ${name}`)
      const others = [...seen.keys()].filter((name) => !(name in expected) && !OWN_VARIABLE.test(name))
      assertEqual(others, [], 'variables that nobody asked for')
    },
  ],
  [
    'EXEC-31',
    'env.values',
    'keeps every character of a value',
    async (context) => {
      const sandbox = await context.sandbox()
      for (const value of ['', ' ', 'a\nb', '$(touch canary)', '`x`', `'"\\`, 'ä€𝄞', '=', 'x'.repeat(10_000)]) {
        const seen = await context.output(sandbox, 'printf "%s" "$VALUE"', { env: { VALUE: value } })
        assertEqual(seen, value, 'the value as the command sees it')
      }
      assertEqual(
        await sandbox.files.stat(`${sandbox.paths.workspace}/canary`),
        undefined,
        'trace of an evaluated value',
      )
    },
  ],
  [
    'EXEC-32',
    'env.not-shared',
    'keeps a variable of one command from the next',
    async (context) => {
      const sandbox = await context.sandbox()
      await context.output(sandbox, 'export LATER=1; ONLY=2', { env: { ONCE: 'x' } })
      assertEqual(await context.output(sandbox, 'echo "[$LATER$ONLY$ONCE]"'), '[]\n', 'what the next command sees')
    },
  ],
  [
    'EXEC-33',
    'cwd.default',
    'runs in the workspace, or in the directory that was asked for',
    async (context) => {
      const sandbox = await context.sandbox()
      const { workspace } = sandbox.paths
      assertEqual(await context.output(sandbox, ['pwd']), `${workspace}\n`, 'pwd by default')
      const deep = `${workspace}/a b/$c/ä`
      await sandbox.files.mkdir(deep, { recursive: true })
      assertEqual(await context.output(sandbox, ['pwd'], { cwd: deep }), `${deep}\n`, 'pwd in a directory')
      await context.output(sandbox, `cd '${deep}'`)
      assertEqual(await context.output(sandbox, ['pwd']), `${workspace}\n`, 'pwd after a command that changed its own')
    },
  ],
  [
    'EXEC-33',
    'cwd.and-env',
    'applies working directory and environment together',
    async (context) => {
      const sandbox = await context.sandbox()
      await sandbox.files.mkdir(`${sandbox.paths.workspace}/d`)
      const seen = await context.output(sandbox, 'echo "$X"; pwd', {
        cwd: `${sandbox.paths.workspace}/d`,
        env: { X: context.nonce },
      })
      assertEqual(seen, `${context.nonce}\n${sandbox.paths.workspace}/d\n`, 'both')
    },
  ],
])

/**
 * What a shell sets for itself, what an image or account brings without being asked, and marks by which a backend finds
 * its processes again.
 */
const OWN_VARIABLE =
  /^(?:PWD|OLDPWD|SHLVL|_|HOME|HOSTNAME|LANG|LOGNAME|PATH|SHELL|TERM|TMPDIR|USER|COFFERDAM_(?!HOST_CANARY).*)$/
