import { assertCode, assertEqual, assertTrue } from '../../assertions.js'
import { backendCases, lacks } from '../../backend-case.js'
import type { BackendCase } from '../../backend-case.js'

export const CREATE_CASES: readonly BackendCase[] = backendCases('lifecycle', [
  [
    'LIFE-1',
    'create.runs-nothing',
    'refuses commands and files before the first start',
    async (context) => {
      const sandbox = await context.create()
      const spawn = sandbox.spawn({ operationId: context.operationId(), command: 'true' })
      await assertCode(spawn, 'not_running', 'spawn before start')
      await assertCode(sandbox.files.stat(sandbox.paths.workspace), 'not_running', 'files.stat before start')
      const write = sandbox.files.write(`${sandbox.paths.workspace}/f`, new Uint8Array(1))
      await assertCode(write, 'not_running', 'files.write before start')
      await assertCode(sandbox.processes(), 'not_running', 'processes before start')
    },
  ],
  [
    'LIFE-2',
    'create.idempotent',
    'finds the sandbox of the same name again instead of making a second',
    async (context) => {
      const request = context.request()
      const first = await context.create(request)
      const second = await context.create(request)
      assertEqual(second.id, first.id, 'id of the second create')
      const ids: string[] = []
      for await (const summary of context.client.list({ ...request.identity })) ids.push(summary.id)
      assertEqual(ids, [first.id], 'sandboxes in the list')
    },
  ],
  [
    'LIFE-2',
    'create.concurrent-same-name',
    'makes one sandbox when several creates of one name run at once',
    async (context) => {
      const request = context.request()
      const made = await Promise.all(Array.from({ length: 5 }, () => context.create(request)))
      assertEqual(new Set(made.map((sandbox) => sandbox.id)).size, 1, 'number of sandboxes made')
    },
  ],
  [
    'LIFE-2',
    'create.another-host',
    'finds a sandbox of the same name that another host made',
    async (context) => {
      const request = context.request()
      const first = await context.create(request)
      const other = await context.otherClient()
      const second = await other.create(request)
      context.defer(async () => second[Symbol.asyncDispose]())
      assertEqual(second.id, first.id, 'id seen by the other host')
    },
    (features) => features.reattach || 'features.reattach is false',
  ],
  [
    'LIFE-3',
    'create.separate',
    'keeps files of two sandboxes apart',
    async (context) => {
      const [a, b] = await Promise.all([context.sandbox(), context.sandbox()])
      assertTrue(a.id !== b.id, 'two names are two sandboxes')
      await a.files.write(`${a.paths.workspace}/mine`, new Uint8Array([1]))
      assertEqual(await b.files.stat(`${b.paths.workspace}/mine`), undefined, 'file of the one in the other')
    },
  ],
  [
    'LIFE-4',
    'create.paths',
    'gives absolute, separate directories for workspace and control, which are there after start',
    async (context) => {
      const sandbox = await context.sandbox()
      const { workspace, control } = sandbox.paths
      for (const path of [workspace, control]) {
        assertTrue(path.startsWith('/') && !path.endsWith('/'), `${path} is absolute and plain`)
        assertEqual((await sandbox.files.stat(path))?.type, 'directory', `what is at ${path}`)
      }
      assertTrue(workspace !== control && !control.startsWith(`${workspace}/`), 'control is not in the workspace')
      const entries = []
      for await (const entry of sandbox.files.tree(workspace)) entries.push(entry.path)
      assertEqual(entries, [], 'what is in a new workspace')
    },
  ],
  [
    'LIFE-4',
    'create.same-file-system',
    'renames a file from control into the workspace in one step',
    async (context) => {
      const { files, paths } = await context.sandbox()
      await files.write(`${paths.control}/staged`, new Uint8Array([7]))
      await files.rename(`${paths.control}/staged`, `${paths.workspace}/final`)
      assertEqual((await files.stat(`${paths.workspace}/final`))?.sizeBytes, 1, 'size after the move')
    },
  ],
  [
    'LIFE-5',
    'create.aborted',
    'makes nothing when its signal has fired already',
    async (context) => {
      const request = context.request()
      const create = context.client.create(request, { signal: AbortSignal.abort() })
      await assertCode(create, 'aborted', 'create with a fired signal')
      for await (const summary of context.client.list({ ...request.identity })) {
        assertEqual(summary.name, undefined, 'a sandbox that an aborted create left')
      }
    },
  ],
  [
    'LIFE-6',
    'create.requires',
    'refuses requirements that it does not meet before anything is made',
    async (context) => {
      const request = context.request({ requires: { isolation: 'vm' } })
      await assertCode(context.client.create(request), 'unsupported_feature', 'create that requires a vm')
      for await (const summary of context.client.list({ ...request.identity })) {
        assertEqual(summary.name, undefined, 'a sandbox that a refused create left')
      }
    },
    (features) => features.isolation !== 'vm' || "features.isolation is 'vm'",
  ],
  [
    'LIFE-7',
    'features.frozen',
    'declares every feature, frozen, and never more for a sandbox than for the client',
    async (context) => {
      const { features } = context
      assertTrue(Object.isFrozen(features), 'client.features is frozen')
      const sandbox = await context.create()
      for (const [name, value] of Object.entries(features)) {
        const own = sandbox.features[name as keyof typeof features]
        if (typeof value === 'boolean' && !value)
          assertEqual(own, false, `sandbox.features.${name}, which the client lacks`)
        assertEqual(typeof own, typeof value, `type of sandbox.features.${name}`)
      }
    },
  ],
  [
    'LIFE-8',
    'unsupported.mounts',
    'refuses mounts when it has none',
    async (context) => {
      const request = context.request({ mounts: [{ source: '/usr', target: '/mnt/usr', readOnly: true }] })
      await assertCode(context.client.create(request), 'unsupported_feature', 'create with a mount')
    },
    lacks('bindMounts'),
  ],
  [
    'LIFE-8',
    'unsupported.users',
    'refuses users when it has none',
    async (context) => {
      await assertCode(
        context.client.create(context.request({ users: 'on' })),
        'unsupported_feature',
        "create with users: 'on'",
      )
      const sandbox = await context.sandbox()
      const spawn = sandbox.spawn({ operationId: context.operationId(), command: 'true', user: 'nobody' })
      await assertCode(spawn, 'unsupported_feature', 'spawn as a user')
    },
    lacks('users'),
  ],
  [
    'LIFE-8',
    'unsupported.limits',
    'refuses each limit that it does not enforce',
    async (context) => {
      const none = { memoryBytes: null, cpus: null, pids: null, diskBytes: null }
      const asked = {
        memory: { memoryBytes: 1 << 30 },
        cpu: { cpus: 1 },
        pids: { pids: 500 },
        disk: { diskBytes: 1 << 30 },
      }
      for (const [name, limit] of Object.entries(asked)) {
        if (context.features.limits[name as keyof typeof asked]) continue
        const create = context.client.create(context.request({ limits: { ...none, ...limit } }))
        await assertCode(create, 'unsupported_feature', `create with a limit on ${name}`)
      }
    },
  ],
  [
    'LIFE-8',
    'unsupported.network',
    'refuses each kind of network that it does not enforce',
    async (context) => {
      const plans = [{ kind: 'none' }, { kind: 'open' }, { kind: 'policy', allow: [] }] as const
      for (const network of plans) {
        if (context.features.network.includes(network.kind)) continue
        await assertCode(
          context.client.create(context.request({ network })),
          'unsupported_feature',
          `network ${network.kind}`,
        )
      }
    },
  ],
  [
    'LIFE-8',
    'unsupported.pause',
    'refuses pause and unpause when it has none',
    async (context) => {
      const sandbox = await context.sandbox()
      await assertCode(sandbox.pause(), 'unsupported_feature', 'pause')
      await assertCode(sandbox.unpause(), 'unsupported_feature', 'unpause')
    },
    lacks('pause'),
  ],
  [
    'LIFE-8',
    'unsupported.freeze',
    'refuses freeze and thaw when it has none',
    async (context) => {
      const sandbox = await context.sandbox()
      await assertCode(sandbox.freeze(), 'unsupported_feature', 'freeze')
      await assertCode(sandbox.thaw(), 'unsupported_feature', 'thaw')
    },
    lacks('freeze'),
  ],
  [
    'LIFE-8',
    'unsupported.ports',
    'refuses endpoints when it has none',
    async (context) => assertCode((await context.sandbox()).endpoint(8080), 'unsupported_feature', 'endpoint'),
    lacks('ports'),
  ],
  [
    'LIFE-8',
    'unsupported.native-snapshot',
    'refuses native snapshots when it has none',
    async (context) => {
      const fromNative = { backend: context.client.backendId, id: 'none', data: null }
      await assertCode((await context.sandbox()).snapshotNative(), 'unsupported_feature', 'snapshotNative')
      await assertCode(context.client.create(context.request({ fromNative })), 'unsupported_feature', 'create from one')
    },
    lacks('nativeSnapshot'),
  ],
  [
    'LIFE-8',
    'unsupported.tty',
    'refuses terminals when it has none',
    async (context) => {
      const sandbox = await context.sandbox()
      const spawn = sandbox.spawn({ operationId: context.operationId(), command: 'true', tty: { cols: 80, rows: 24 } })
      await assertCode(spawn, 'unsupported_feature', 'spawn with a terminal')
    },
    lacks('tty'),
  ],
  [
    'LIFE-9',
    'resize.without-terminal',
    'refuses to resize a command that has no terminal',
    async (context) => {
      const sandbox = await context.sandbox()
      const process = await context.spawn(sandbox, 'sleep 30')
      await assertCode(process.resize({ cols: 80, rows: 24 }), 'unsupported_feature', 'resize')
      await process.kill()
    },
  ],
])
