import { assertCode, assertEqual } from '../../assertions.js'
import { backendCases, needs } from '../../backend-case.js'
import type { BackendCase } from '../../backend-case.js'
import { bytesOf } from '../../backend-context.js'

export const STATE_MACHINE_CASES: readonly BackendCase[] = backendCases('lifecycle', [
  [
    'LIFE-10',
    'start.concurrent',
    'shares one start among concurrent calls',
    async (context) => {
      const sandbox = await context.create()
      await Promise.all(Array.from({ length: 8 }, () => sandbox.start({ fence: 1n })))
      assertEqual(await context.output(sandbox, `printf %s ${context.nonce}`), context.nonce, 'a command after it')
    },
  ],
  [
    'LIFE-10',
    'start.idempotent',
    'leaves a running sandbox with its processes alone when it is started again',
    async (context) => {
      const sandbox = await context.sandbox()
      const process = await context.spawn(sandbox, 'read line; echo "$line"', { stdin: 'pipe' })
      await sandbox.start({ fence: 1n })
      await context.send(process, `${context.nonce}\n`)
      assertEqual(await new Response(process.stdout).text(), `${context.nonce}\n`, 'output of a command from before')
    },
  ],
  [
    'LIFE-11',
    'start.aborted',
    'starts at the second try after an aborted one',
    async (context) => {
      const sandbox = await context.create()
      await assertCode(
        sandbox.start({ fence: 1n, signal: AbortSignal.abort() }),
        'aborted',
        'start with a fired signal',
      )
      await sandbox.start({ fence: 1n })
      await context.output(sandbox, 'true')
    },
  ],
  [
    'LIFE-12',
    'fence.lower',
    'refuses to start under a lower fence than the highest seen',
    async (context) => {
      const sandbox = await context.create()
      await sandbox.start({ fence: 5n })
      await assertCode(sandbox.start({ fence: 4n }), 'lease_lost', 'start with fence 4 after 5')
      await context.output(sandbox, 'true')
      await sandbox.stop()
      await assertCode(sandbox.start({ fence: 4n }), 'lease_lost', 'start with fence 4 after stop')
    },
  ],
  [
    'LIFE-12',
    'fence.large',
    'tells fences apart beyond what a double can',
    async (context) => {
      const sandbox = await context.create()
      const fence = 2n ** 60n
      await sandbox.start({ fence: fence + 1n })
      await assertCode(sandbox.start({ fence }), 'lease_lost', 'start with a fence lower by one')
    },
  ],
  [
    'LIFE-14',
    'stop.ends-processes',
    'ends every process at stop, and refuses commands after it',
    async (context) => {
      const sandbox = await context.sandbox()
      const process = await context.spawn(sandbox, 'sleep 60 & sleep 60', { background: true, timeoutMs: 0 })
      await sandbox.stop()
      const end = await context.within('the end of the command', process.wait())
      assertEqual(end.exitCode, null, 'exit code of a command that was stopped')
      await assertCode(sandbox.spawn({ operationId: context.operationId(), command: 'true' }), 'not_running', 'spawn')
      await assertCode(sandbox.files.write(`${sandbox.paths.workspace}/f`, bytesOf('x')), 'not_running', 'files.write')
      assertEqual(await context.client.probe(sandbox.state), 'stopped', 'probe')
    },
  ],
  [
    'LIFE-15',
    'stop.workspace',
    'keeps the workspace over stop and start',
    async (context) => {
      const sandbox = await context.sandbox()
      const path = `${sandbox.paths.workspace}/kept`
      await sandbox.files.write(path, bytesOf(context.nonce), { mode: 0o640 })
      const before = await sandbox.files.stat(path)
      await sandbox.stop()
      await sandbox.start({ fence: 1n })
      assertEqual(await context.output(sandbox, 'cat kept'), context.nonce, 'content after stop and start')
      assertEqual(await sandbox.files.stat(path), before, 'stat after stop and start')
    },
    needs('persistentWorkspace'),
  ],
  [
    'LIFE-16',
    'shutdown.gone',
    'is gone after shutdown, for every method, and absent for the client',
    async (context) => {
      const sandbox = await context.sandbox()
      const { state } = sandbox
      await sandbox.shutdown()
      await assertCode(sandbox.start({ fence: 1n }), 'sandbox_gone', 'start')
      await assertCode(sandbox.spawn({ operationId: context.operationId(), command: 'true' }), 'sandbox_gone', 'spawn')
      await assertCode(sandbox.files.stat(sandbox.paths.workspace), 'sandbox_gone', 'files.stat')
      await assertCode(sandbox.processes(), 'sandbox_gone', 'processes')
      assertEqual(await context.client.probe(state), 'absent', 'probe')
    },
  ],
  [
    'LIFE-16',
    'shutdown.name-free',
    'makes a new, empty sandbox when the name of one that is gone is used again',
    async (context) => {
      const request = context.request()
      const first = await context.create(request)
      await first.start({ fence: 1n })
      await first.files.write(`${first.paths.workspace}/old`, bytesOf('x'))
      await first.shutdown()
      const second = await context.create(request)
      await second.start({ fence: 1n })
      assertEqual(await second.files.stat(`${second.paths.workspace}/old`), undefined, 'a file of the old sandbox')
    },
  ],
  [
    'LIFE-16',
    'ends.when-gone',
    'lets everybody stop, shut down and dispose of what another host has removed',
    async (context) => {
      const started = await context.sandbox()
      const other = await context.otherClient()
      await other.delete(started.state)
      await started.stop()
      await started.shutdown()
      await started[Symbol.asyncDispose]()
      assertEqual(await context.client.probe(started.state), 'absent', 'probe after it')
    },
    needs('reattach'),
  ],
  [
    'LIFE-17',
    'dispose.leaves-sandbox',
    'lets go of the handle and leaves the sandbox with its background commands as it is',
    async (context) => {
      const request = context.request()
      const sandbox = await context.create(request)
      await sandbox.start({ fence: 1n })
      const process = await context.spawn(sandbox, 'sleep 60', { background: true, keepOnPark: true, timeoutMs: 0 })
      await sandbox[Symbol.asyncDispose]()
      assertEqual(await context.client.probe(sandbox.state), 'running', 'probe after disposal of the handle')
      const again = await context.client.resume(sandbox.state, request)
      context.defer(async () => again[Symbol.asyncDispose]())
      await again.start({ fence: 1n })
      const info = (await again.processes()).find((each) => each.id === process.id)
      assertEqual(info?.status, 'running', 'status of the background command')
      await (await again.attach(process.id)).process.kill()
    },
    needs('reattach'),
  ],
  [
    'LIFE-18',
    'pause.holds',
    'holds processes still while paused, refuses commands, and goes on after unpause',
    async (context) => {
      const sandbox = await context.sandbox()
      const process = await context.spawn(sandbox, 'while true; do echo x >> ticks; sleep 0.01; done', {
        background: true,
      })
      await context.eventually(
        'a first tick',
        async () => (await sandbox.files.stat(`${sandbox.paths.workspace}/ticks`)) !== undefined,
      )
      await sandbox.pause()
      assertEqual(await context.client.probe(sandbox.state), 'paused', 'probe while paused')
      await assertCode(
        sandbox.spawn({ operationId: context.operationId(), command: 'true' }),
        'not_running',
        'spawn while paused',
      )
      await sandbox.pause()
      await sandbox.unpause()
      const size = async (): Promise<number> =>
        (await sandbox.files.stat(`${sandbox.paths.workspace}/ticks`))!.sizeBytes
      const before = await size()
      await context.eventually('another tick after unpause', async () => (await size()) > before)
      await process.kill()
    },
    needs('pause'),
  ],
  [
    'LIFE-19',
    'freeze.holds',
    'holds background processes still while frozen, with files readable, and goes on after thaw',
    async (context) => {
      const sandbox = await context.sandbox()
      const ticks = `${sandbox.paths.workspace}/ticks`
      const process = await context.spawn(sandbox, 'while true; do echo x >> ticks; sleep 0.01; done', {
        background: true,
      })
      const size = async (): Promise<number> => (await sandbox.files.stat(ticks))?.sizeBytes ?? 0
      await context.eventually('a first tick', async () => (await size()) > 0)
      await sandbox.freeze()
      await sandbox.freeze()
      const frozen = await size()
      await new Promise((resolve) => setTimeout(resolve, 100))
      assertEqual(await size(), frozen, 'size of the file after 100 ms of frost')
      await sandbox.thaw()
      await sandbox.thaw()
      await context.eventually('another tick after thaw', async () => (await size()) > frozen)
      await process.kill()
    },
    needs('freeze'),
  ],
])
