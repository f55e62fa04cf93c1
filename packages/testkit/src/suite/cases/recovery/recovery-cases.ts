import { assertBytes, assertCode, assertEqual, assertTrue } from '../../assertions.js'
import { backendCases, lacks, needs } from '../../backend-case.js'
import type { BackendCase } from '../../backend-case.js'
import { bytesOf, readBytes } from '../../backend-context.js'

export const RECOVERY_CASES: readonly BackendCase[] = backendCases('recovery', [
  [
    'RECO-1',
    'reattach.files',
    'finds workspace and control again from the state, through JSON and another client',
    async (context) => {
      const request = context.request()
      const sandbox = await context.create(request)
      await sandbox.start({ fence: 1n })
      await sandbox.files.write(`${sandbox.paths.workspace}/work`, bytesOf(context.nonce), { mode: 0o600 })
      await sandbox.files.write(`${sandbox.paths.control}/ready`, bytesOf('marker'))
      const text = JSON.stringify(sandbox.state)
      await sandbox[Symbol.asyncDispose]()
      const other = await context.otherClient()
      const again = await other.resume(other.stateSchema.parse(JSON.parse(text)), request)
      context.defer(async () => again[Symbol.asyncDispose]())
      await again.start({ fence: 2n })
      assertEqual([again.id, again.paths], [sandbox.id, sandbox.paths], 'id and paths')
      assertBytes(
        await readBytes(await again.files.read(`${again.paths.workspace}/work`)),
        bytesOf(context.nonce),
        'work',
      )
      assertEqual((await again.files.stat(`${again.paths.control}/ready`))?.sizeBytes, 6, 'size of what is in control')
    },
    needs('reattach'),
  ],
  [
    'RECO-2',
    'reattach.background',
    'finds a kept background command again, with its output, its end and its operation id',
    async (context) => {
      const request = context.request()
      const sandbox = await context.create(request)
      await sandbox.start({ fence: 1n })
      const operationId = context.operationId()
      const script = `echo before-${context.nonce}; while [ ! -e go ]; do sleep 0.02; done; echo after; exit 7`
      const spawned = { operationId, command: script, background: true, keepOnPark: true, timeoutMs: 0 } as const
      const process = await sandbox.spawn(spawned)
      await Promise.all([process.stdout.cancel(), process.stderr.cancel()])
      await context.eventually('its first line', async () => (await sandbox.attach(process.id)).availableBytes > 0)
      const { state } = sandbox
      await sandbox[Symbol.asyncDispose]()
      const other = await context.otherClient()
      const again = await other.resume(state, request)
      context.defer(async () => again[Symbol.asyncDispose]())
      await again.start({ fence: 2n })
      const info = (await again.processes()).find((each) => each.operationId === operationId)
      assertEqual([info?.id, info?.status], [process.id, 'running'], 'what the second host sees')
      assertEqual((await again.spawn(spawned)).id, process.id, 'a spawn with the same operation id')
      const attached = await again.attach(process.id, { fromOffset: 0 })
      const output = context.meanwhile(new Response(attached.process.stdout).text())
      await again.files.write(`${again.paths.workspace}/go`, new Uint8Array(0))
      assertEqual(await context.within('its output', output), `before-${context.nonce}\nafter\n`, 'all of its output')
      assertEqual((await attached.process.wait()).exitCode, 7, 'exit code')
    },
    needs('reattach'),
  ],
  [
    'RECO-3',
    'client.disposed',
    'leaves every sandbox as it is when the client is disposed',
    async (context) => {
      const request = context.request()
      const first = await context.otherClient()
      const sandbox = await first.create(request)
      context.defer(() => context.client.delete(sandbox.state))
      await sandbox.start({ fence: 1n })
      await sandbox.files.write(`${sandbox.paths.workspace}/f`, bytesOf('x'))
      const { state } = sandbox
      await first[Symbol.asyncDispose]()
      assertTrue((await context.client.probe(state)) !== 'absent', 'the sandbox is there')
      const again = await context.client.resume(state, request)
      context.defer(async () => again[Symbol.asyncDispose]())
      await again.start({ fence: 2n })
      assertEqual((await again.files.stat(`${again.paths.workspace}/f`))?.sizeBytes, 1, 'its file')
    },
    needs('reattach'),
  ],
  [
    'RECO-4',
    'takeover.higher-fence',
    'gives a taken-over sandbox to the higher fence, with its files, and to it alone',
    async (context) => {
      const request = context.request()
      const crashed = await context.create(request)
      await crashed.start({ fence: 7n })
      await crashed.files.write(`${crashed.paths.workspace}/half`, bytesOf('work'))
      const other = await context.otherClient()
      const taken = await other.resume(crashed.state, request)
      context.defer(async () => taken[Symbol.asyncDispose]())
      await assertCode(taken.start({ fence: 6n }), 'lease_lost', 'start under a lower fence')
      await taken.start({ fence: 8n })
      assertEqual(await context.output(taken, 'cat half'), 'work', 'what the crashed host left')
      await assertCode(crashed.start({ fence: 7n }), 'lease_lost', 'start of the crashed host that woke up')
      assertEqual(
        await context.output(taken, `echo ${context.nonce}`),
        `${context.nonce}\n`,
        'a command of the new holder',
      )
    },
    needs('reattach'),
  ],
  [
    'RECO-5',
    'stopped.resume',
    'resumes a stopped sandbox and starts it with its workspace',
    async (context) => {
      const request = context.request()
      const sandbox = await context.create(request)
      await sandbox.start({ fence: 1n })
      await context.output(sandbox, `mkdir -p a/b; echo ${context.nonce} > a/b/c; ln -s a/b link; chmod 700 a`)
      await sandbox.stop()
      const again = await context.client.resume(sandbox.state, request)
      context.defer(async () => again[Symbol.asyncDispose]())
      await again.start({ fence: 2n })
      assertEqual(await context.output(again, 'cat link/c'), `${context.nonce}\n`, 'a file through a link')
      assertEqual((await again.files.stat(`${again.paths.workspace}/a`))?.mode, 0o700, 'mode of a directory')
    },
    (features) =>
      (features.reattach && features.persistentWorkspace) || 'features.reattach or persistentWorkspace is false',
  ],
  [
    'RECO-6',
    'lost-create',
    'finds by list, and removes, a sandbox whose create reply was lost',
    async (context) => {
      const request = context.request()
      const lost = await context.client.create(request)
      await lost[Symbol.asyncDispose]()
      const other = await context.otherClient()
      let removed = 0
      for await (const summary of other.list({
        deployment: request.identity.deployment,
        slotHash: request.identity.slotHash,
      })) {
        assertEqual(summary.name, request.name, 'name in the list')
        await other.delete(other.stateSchema.parse(JSON.parse(JSON.stringify(summary.state))))
        removed++
      }
      assertEqual(removed, 1, 'sandboxes found')
      assertEqual(await context.client.probe(lost.state), 'absent', 'probe after it')
    },
    needs('reattach'),
  ],
  [
    'RECO-7',
    'resume.not-supported',
    'refuses to resume when it cannot reattach',
    async (context) => {
      const request = context.request()
      const sandbox = await context.create(request)
      await assertCode(context.client.resume(sandbox.state, request), 'unsupported_feature', 'resume')
    },
    lacks('reattach'),
  ],
])
