import type { Sandbox } from '@cofferdam/core/plugin'
import { assertCode, assertEqual, assertTrue, ConformanceFailure } from '../../assertions.js'
import { backendCases, needsProvenKill } from '../../backend-case.js'
import type { BackendCase } from '../../backend-case.js'
import type { BackendContext } from '../../backend-context.js'

/** Writes ticks until it dies. */
function ticker(name: string): string {
  return `sh -c 'while true; do echo x >> ticks-${name}; sleep 0.02; done'`
}

/** A command with a child, a grandchild whose parent ends, and (where it can) one in another session. */
const TREE = `${ticker('child')} & (${ticker('orphan')} &) ; ${ticker('own')}`
const TREE_WITH_SESSION = `setsid ${ticker('session')} & ${TREE}`

export const KILL_CASES: readonly BackendCase[] = backendCases('exec', [
  [
    'EXEC-40',
    'timeout.result',
    'is a result and no error when time runs out, with the output so far',
    async (context) => {
      const result = await context.run(await context.sandbox(), `echo ${context.nonce}; sleep 60`, { timeoutMs: 300 })
      assertEqual([result.timedOut, result.exitCode], [true, null], 'timedOut and exit code')
      assertEqual(result.stdout, `${context.nonce}\n`, 'output before it ran out')
    },
  ],
  [
    'EXEC-40',
    'timeout.tree',
    'kills the whole tree when time runs out',
    async (context) => {
      const sandbox = await context.sandbox()
      const process = await context.spawn(sandbox, TREE, { timeoutMs: 1_500 })
      void process.stdout.cancel()
      void process.stderr.cancel()
      await ticking(context, sandbox, ['child', 'orphan', 'own'])
      assertEqual((await context.within('the end', process.wait())).timedOut, true, 'timedOut')
      await silent(sandbox, ['child', 'orphan', 'own'])
    },
  ],
  [
    'EXEC-40',
    'timeout.ignored-term',
    'kills a command that ignores every signal it can',
    async (context) => {
      const script = "trap '' TERM INT HUP; while true; do sleep 0.05; done"
      const result = await context.run(await context.sandbox(), script, { timeoutMs: 300 })
      assertEqual([result.timedOut, result.exitCode], [true, null], 'timedOut and exit code')
    },
  ],
  [
    'EXEC-41',
    'timeout.none',
    'does not end a command whose timeout is 0',
    async (context) => {
      const result = await context.run(await context.sandbox(), 'sleep 0.3; echo done', { timeoutMs: 0 })
      assertEqual([result.stdout, result.timedOut], ['done\n', false], 'output and timedOut')
    },
  ],
  [
    'EXEC-41',
    'timeout.not-reached',
    'does not say timedOut of a command that ended in time',
    async (context) => {
      const result = await context.run(await context.sandbox(), 'exit 1', { timeoutMs: 30_000 })
      assertEqual([result.exitCode, result.timedOut], [1, false], 'exit code and timedOut')
    },
  ],
  [
    'EXEC-42',
    'kill.tree',
    'kills every descendant: children, orphans and what runs beside',
    async (context) => {
      const sandbox = await context.sandbox()
      const process = await context.spawn(sandbox, TREE)
      await ticking(context, sandbox, ['child', 'orphan', 'own'])
      await context.within('kill', process.kill())
      await silent(sandbox, ['child', 'orphan', 'own'])
      const end = await context.within('the end', process.wait())
      assertEqual([end.exitCode, end.signal, end.timedOut], [null, 'SIGKILL', false], 'how it ended')
    },
  ],
  [
    'EXEC-42',
    'kill.session',
    'kills a descendant in a session of its own',
    async (context) => {
      const sandbox = await context.sandbox()
      const process = await context.spawn(sandbox, TREE_WITH_SESSION)
      await ticking(context, sandbox, ['session', 'child', 'orphan', 'own'])
      await context.within('kill', process.kill())
      await silent(sandbox, ['session', 'child', 'orphan', 'own'])
    },
    needsProvenKill,
  ],
  [
    'EXEC-42',
    'kill.many',
    'kills a hundred descendants',
    async (context) => {
      const sandbox = await context.sandbox()
      const script = `i=0; while [ $i -lt 100 ]; do sleep 60 & i=$((i + 1)); done; echo ready; wait`
      const process = await context.spawn(sandbox, script)
      const reader = process.stdout.getReader()
      await context.within('the children', reader.read(), 30_000)
      await context.within('kill', process.kill())
      await reader.cancel()
      assertEqual((await context.within('the end', process.wait())).signal, 'SIGKILL', 'signal')
    },
  ],
  [
    'EXEC-43',
    'kill.lingering',
    'kills what a command left behind when it is killed after its end',
    async (context) => {
      const sandbox = await context.sandbox()
      const process = await context.spawn(sandbox, `${ticker('left')} & exit 0`)
      await context.within('the end', process.wait())
      await ticking(context, sandbox, ['left'])
      await context.within('kill', process.kill())
      await silent(sandbox, ['left'])
    },
    needsProvenKill,
  ],
  [
    'EXEC-44',
    'kill.ended',
    'is no error for what has ended, and changes nothing of its result',
    async (context) => {
      const process = await context.spawn(await context.sandbox(), 'exit 5')
      assertEqual((await process.wait()).exitCode, 5, 'exit code')
      await process.kill()
      await process.kill('SIGTERM')
      assertEqual((await process.wait()).exitCode, 5, 'exit code after kill')
    },
  ],
  [
    'EXEC-45',
    'kill.term',
    'sends the signal asked for, which a command may handle',
    async (context) => {
      const sandbox = await context.sandbox()
      const script = `trap 'echo got-${context.nonce}; exit 42' TERM; echo ready; while true; do sleep 0.02; done`
      const process = await context.spawn(sandbox, script)
      const reader = process.stdout.getReader()
      await context.within('the trap', reader.read())
      await process.kill('SIGTERM')
      const line = await context.within('what the trap prints', reader.read())
      assertEqual(new TextDecoder().decode(line.value), `got-${context.nonce}\n`, 'what the trap prints')
      assertEqual((await context.within('the end', process.wait())).exitCode, 42, 'exit code')
      await reader.cancel()
    },
  ],
  [
    'EXEC-46',
    'kill.stop-and-continue',
    'holds a tree with SIGSTOP and lets it go on with SIGCONT',
    async (context) => {
      const sandbox = await context.sandbox()
      const process = await context.spawn(sandbox, ticker('held'))
      await ticking(context, sandbox, ['held'])
      await process.kill('SIGSTOP')
      await silent(sandbox, ['held'])
      const before = await size(sandbox, 'held')
      await process.kill('SIGCONT')
      await context.eventually('a tick after SIGCONT', async () => (await size(sandbox, 'held')) > before)
      await process.kill()
    },
  ],
  [
    'EXEC-47',
    'abort.before',
    'does not start a command whose signal has fired',
    async (context) => {
      const sandbox = await context.sandbox()
      const spawn = sandbox.spawn({
        operationId: context.operationId(),
        command: 'touch ran',
        signal: AbortSignal.abort(),
      })
      await assertCode(spawn, 'aborted', 'spawn with a fired signal')
      assertEqual(await sandbox.files.stat(`${sandbox.paths.workspace}/ran`), undefined, 'what it would have made')
    },
  ],
  [
    'EXEC-47',
    'abort.running',
    'kills the tree when the signal fires, and wait says aborted',
    async (context) => {
      const sandbox = await context.sandbox()
      const controller = new AbortController()
      const process = await context.spawn(sandbox, TREE, { signal: controller.signal })
      void process.stdout.cancel()
      void process.stderr.cancel()
      await ticking(context, sandbox, ['child', 'orphan', 'own'])
      controller.abort()
      await assertCode(context.within('the end', process.wait()), 'aborted', 'wait after the abort')
      await silent(sandbox, ['child', 'orphan', 'own'])
    },
  ],
  [
    'EXEC-47',
    'abort.after',
    'changes nothing of a command that has ended',
    async (context) => {
      const controller = new AbortController()
      const process = await context.spawn(await context.sandbox(), 'exit 8', { signal: controller.signal })
      assertEqual((await process.wait()).exitCode, 8, 'exit code')
      controller.abort()
      assertEqual((await process.wait()).exitCode, 8, 'exit code after the abort')
    },
  ],
  [
    'EXEC-48',
    'dispose.kills',
    'kills a command when its handle is disposed, unless it is a background one',
    async (context) => {
      const sandbox = await context.sandbox()
      const foreground = await context.spawn(sandbox, ticker('fore'))
      const background = await context.spawn(sandbox, ticker('back'), { background: true, timeoutMs: 0 })
      await ticking(context, sandbox, ['fore', 'back'])
      await foreground[Symbol.asyncDispose]()
      await background[Symbol.asyncDispose]()
      await silent(sandbox, ['fore'])
      const before = await size(sandbox, 'back')
      await context.eventually('a tick of the background command', async () => (await size(sandbox, 'back')) > before)
      await (await sandbox.attach(background.id)).process.kill()
      await silent(sandbox, ['back'])
    },
  ],
  [
    'EXEC-49',
    'stop.during-exec',
    'ends waits at stop in a bounded time',
    async (context) => {
      const sandbox = await context.sandbox()
      const processes = await Promise.all(Array.from({ length: 5 }, () => context.spawn(sandbox, 'sleep 60')))
      await sandbox.stop()
      const ends = await context.within('all ends', Promise.allSettled(processes.map((process) => process.wait())))
      for (const end of ends) {
        const looksLikeSuccess = end.status === 'fulfilled' && end.value.exitCode === 0
        assertTrue(!looksLikeSuccess, 'a command that was cut off does not look like one that succeeded')
      }
    },
  ],
])

function size(sandbox: Sandbox, name: string): Promise<number> {
  return sandbox.files.stat(`${sandbox.paths.workspace}/ticks-${name}`).then((stat) => stat?.sizeBytes ?? 0)
}

async function ticking(context: BackendContext, sandbox: Sandbox, names: readonly string[]): Promise<void> {
  for (const name of names)
    await context.eventually(`a first tick of ${name}`, async () => (await size(sandbox, name)) > 0)
}

/** Nothing is written any more: the processes are gone, and not only the promise resolved. */
async function silent(sandbox: Sandbox, names: readonly string[]): Promise<void> {
  const sizes = (): Promise<number[]> => Promise.all(names.map((name) => size(sandbox, name)))
  const before = await sizes()
  await new Promise((resolve) => setTimeout(resolve, 120))
  const after = await sizes()
  if (before.join() !== after.join())
    throw new ConformanceFailure(`ticks of ${names.join(', ')} while dead or held`, before, after)
}
