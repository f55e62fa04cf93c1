import { assertCode, assertEqual, assertIncludes, assertTrue } from '../../assertions.js'
import { backendCases } from '../../backend-case.js'
import type { BackendCase } from '../../backend-case.js'

const MUST: readonly BackendCase[] = backendCases('exec', [
  [
    'EXEC-10',
    'exit.codes',
    'gives every exit code from 0 to 255',
    async (context) => {
      const sandbox = await context.sandbox()
      for (let from = 0; from < 256; from += 16) {
        const codes = Array.from({ length: 16 }, (_, index) => from + index)
        const exits = await Promise.all(codes.map((code) => context.run(sandbox, `exit ${code}`)))
        assertEqual(
          exits.map((exit) => exit.exitCode),
          codes,
          'exit codes',
        )
        assertTrue(
          exits.every((exit) => exit.signal === null && !exit.timedOut),
          'none of them has a signal or timed out',
        )
      }
    },
  ],
  [
    'EXEC-11',
    'exit.signals',
    'tells by which signal a command ended',
    async (context) => {
      const sandbox = await context.sandbox()
      for (const signal of ['HUP', 'INT', 'KILL', 'USR1', 'TERM'] as const) {
        const exit = await context.run(sandbox, `kill -${signal} $$; sleep 60`)
        assertEqual([exit.exitCode, exit.signal, exit.timedOut], [null, `SIG${signal}`, false], `end by SIG${signal}`)
      }
    },
  ],
  [
    'EXEC-11',
    'exit.fatal-signals',
    'tells by which signal a command ended that went wrong or over its bounds',
    async (context) => {
      const sandbox = await context.sandbox()
      const fatal = ['QUIT', 'ILL', 'TRAP', 'ABRT', 'BUS', 'FPE', 'SEGV', 'USR2', 'PIPE', 'ALRM', 'XCPU', 'XFSZ', 'SYS']
      for (const signal of fatal) {
        const exit = await context.run(sandbox, `kill -${signal} $$; sleep 60`)
        assertEqual([exit.exitCode, exit.signal], [null, `SIG${signal}`], `end by SIG${signal}`)
      }
    },
  ],
  [
    'EXEC-12',
    'exit.wait-again',
    'gives the same end to everybody who waits, however often and late',
    async (context) => {
      const process = await context.spawn(await context.sandbox(), 'exit 9')
      const ends = await context.within('all ends', Promise.all([process.wait(), process.wait(), process.wait()]))
      assertEqual(
        [...ends, await process.wait()].map((end) => end.exitCode),
        [9, 9, 9, 9],
        'exit codes',
      )
    },
  ],
  [
    'EXEC-13',
    'exit.not-found-in-shell',
    'gives 127 for a command that the shell does not find, and 126 for one that may not be run',
    async (context) => {
      const sandbox = await context.sandbox()
      const missing = await context.run(sandbox, `no-such-program-${context.nonce}`)
      assertEqual(missing.exitCode, 127, 'exit code of what is not there')
      assertIncludes(missing.stderr, context.nonce, 'stderr, which names it')
      const denied = await context.run(sandbox, 'echo true > f; chmod 644 f; ./f')
      assertEqual(denied.exitCode, 126, 'exit code of what is not executable')
    },
  ],
  [
    'EXEC-14',
    'not-started.program',
    'says exec_not_started for an argument vector whose program is not there',
    async (context) => {
      const sandbox = await context.sandbox()
      for (const program of [
        `no-such-program-${context.nonce}`,
        './none',
        '/none/none',
        `${sandbox.paths.workspace}`,
      ]) {
        const spawn = sandbox.spawn({ operationId: context.operationId(), command: [program] })
        await assertCode(spawn, 'exec_not_started', `spawn of ${program}`)
      }
    },
  ],
  [
    'EXEC-14',
    'not-started.not-executable',
    'says exec_not_started for a file without the permission to be executed',
    async (context) => {
      const sandbox = await context.sandbox()
      const path = `${sandbox.paths.workspace}/plain`
      await sandbox.files.write(path, new TextEncoder().encode('#!/bin/sh\n'), { mode: 0o644 })
      const spawn = sandbox.spawn({ operationId: context.operationId(), command: [path] })
      await assertCode(spawn, 'exec_not_started', 'spawn of a file of mode 0644')
    },
  ],
  [
    'EXEC-14',
    'not-started.directory',
    'says exec_not_started when the working directory is not there or is a file',
    async (context) => {
      const sandbox = await context.sandbox()
      await sandbox.files.write(`${sandbox.paths.workspace}/file`, new Uint8Array(0))
      for (const name of ['none', 'file', 'file/deeper']) {
        const cwd = `${sandbox.paths.workspace}/${name}`
        const spawn = sandbox.spawn({ operationId: context.operationId(), command: 'touch ran', cwd })
        await assertCode(spawn, 'exec_not_started', `spawn in ${name}`)
      }
      assertEqual(
        await sandbox.files.stat(`${sandbox.paths.workspace}/ran`),
        undefined,
        'what the command would have made',
      )
    },
  ],
  [
    'EXEC-15',
    'arguments.unusable',
    'says invalid_argument for NUL, for surrogates that are no bytes, and for an empty vector',
    async (context) => {
      const sandbox = await context.sandbox()
      for (const command of ['echo a\0b', ['echo', 'a\0b'], ['echo', '\ud800'], 'echo \udfff', []]) {
        const spawn = sandbox.spawn({ operationId: context.operationId(), command })
        await assertCode(spawn, 'invalid_argument', `spawn of ${JSON.stringify(command)}`)
      }
      for (const env of [{ '': 'x' }, { 'A=B': 'x' }, { A: 'x\0y' }, { 'A\0B': 'x' }]) {
        const spawn = sandbox.spawn({ operationId: context.operationId(), command: 'true', env })
        await assertCode(spawn, 'invalid_argument', `spawn with environment ${JSON.stringify(env)}`)
      }
    },
  ],
  [
    'EXEC-16',
    'operation.same-id',
    'returns the same process for the same operation id, and runs it once',
    async (context) => {
      const sandbox = await context.sandbox()
      const operationId = context.operationId()
      const request = { operationId, command: 'echo x >> runs; sleep 60', timeoutMs: 60_000 }
      const [first, second] = await Promise.all([sandbox.spawn(request), sandbox.spawn(request)])
      context.defer(() => first.kill())
      assertEqual(second.id, first.id, 'id of the second spawn')
      const third = await sandbox.spawn(request)
      assertEqual(third.id, first.id, 'id of a later spawn')
      await context.eventually(
        'the first run',
        async () => (await sandbox.files.stat(`${sandbox.paths.workspace}/runs`))?.sizeBytes === 2,
      )
      await first.kill()
      const ended = await sandbox.spawn(request)
      assertEqual(ended.id, first.id, 'id of a spawn after the end')
      assertEqual((await context.within('its end', ended.wait())).signal, 'SIGKILL', 'end that it tells')
      assertEqual(await context.output(sandbox, 'cat runs'), 'x\n', 'how often it ran')
    },
  ],
  [
    'EXEC-17',
    'processes.info',
    'lists what runs and what ended lately, with what was asked for',
    async (context) => {
      const sandbox = await context.sandbox()
      const startMs = Date.now()
      const operationId = context.operationId()
      const long = await context.spawn(sandbox, 'sleep 60', {
        background: true,
        keepOnPark: true,
        timeoutMs: 0,
        operationId,
      })
      const short = await context.spawn(sandbox, ['sh', '-c', 'exit 6'])
      await short.wait()
      const list = await sandbox.processes()
      const running = list.find((info) => info.id === long.id)
      assertEqual(
        [
          running?.status,
          running?.operationId,
          running?.background,
          running?.keepOnPark,
          running?.exit,
          running?.command,
        ],
        ['running', operationId, true, true, null, 'sleep 60'],
        'what is told of the running one',
      )
      assertTrue(Math.abs(running!.startedAtMs - startMs) < 600_000, 'startedAtMs is a time of today')
      const ended = list.find((info) => info.id === short.id)
      assertEqual(
        [ended?.status, ended?.exit?.exitCode, ended?.background],
        ['ended', 6, false],
        'what is told of the other',
      )
      assertEqual(ended?.command, 'sh -c exit 6', 'its command')
      await long.kill()
    },
  ],
  [
    'EXEC-17',
    'processes.long-command',
    'shows at most 200 characters of a command',
    async (context) => {
      const sandbox = await context.sandbox()
      const process = await context.spawn(sandbox, `true ${'x'.repeat(1_000)}`)
      await process.wait()
      const info = (await sandbox.processes()).find((each) => each.id === process.id)
      assertTrue(info !== undefined && info.command.length <= 200, `${info?.command.length} is at most 200`)
    },
  ],
  [
    'EXEC-18',
    'attach.unknown',
    'says not_found for a process that it does not know',
    async (context) => {
      const sandbox = await context.sandbox()
      await assertCode(sandbox.attach(`none-${context.nonce}`), 'not_found', 'attach')
    },
  ],
  [
    'EXEC-19',
    'concurrent.fifty',
    'runs 50 commands at once and mixes up none of them',
    async (context) => {
      const sandbox = await context.sandbox()
      const numbers = Array.from({ length: 50 }, (_, index) => index)
      const results = await Promise.all(
        numbers.map((n) => context.run(sandbox, `echo ${context.nonce}-${n}; echo e${n} >&2; exit ${n}`)),
      )
      assertEqual(
        results.map((result) => [result.stdout, result.stderr, result.exitCode]),
        numbers.map((n) => [`${context.nonce}-${n}\n`, `e${n}\n`, n]),
        'outputs and exit codes',
      )
    },
  ],
])

const SHOULD: readonly BackendCase[] = backendCases(
  'exec',
  [
    [
      'EXEC-50',
      'exit.unnamed-signal',
      'tells an end by a signal that the contract has no name for as 128 plus its number',
      async (context) => {
        const exit = await context.run(await context.sandbox(), 'kill -PROF $$; sleep 60')
        assertEqual([exit.exitCode, exit.signal], [128 + 27, null], 'end by SIGPROF')
      },
    ],
  ],
  'SHOULD',
)

export const EXIT_CASES: readonly BackendCase[] = [...MUST, ...SHOULD]
