import type { SandboxSummary } from '@cofferdam/core/plugin'
import { assertCode, assertEqual, assertTrue } from '../../assertions.js'
import { backendCases, needs } from '../../backend-case.js'
import type { BackendCase } from '../../backend-case.js'

export const STATE_CASES: readonly BackendCase[] = backendCases('lifecycle', [
  [
    'LIFE-30',
    'state.json',
    'survives JSON, and its schema takes what it gave',
    async (context) => {
      const { state } = await context.create()
      const again: unknown = JSON.parse(JSON.stringify(state))
      assertEqual(again, state, 'state after JSON')
      assertEqual(context.client.stateSchema.parse(again), state, 'state after the schema')
    },
  ],
  [
    'LIFE-31',
    'state.no-secrets',
    'holds nothing of the environment',
    async (context) => {
      const secret = `secret-${context.nonce}`
      const sandbox = await context.sandbox({ environment: { ...context.request().environment, TOKEN: secret } })
      await context.output(sandbox, 'true', { env: { SECOND: secret } })
      assertTrue(!JSON.stringify(sandbox.state).includes(secret), 'the state is without the value of a variable')
      for await (const summary of context.client.list({ deployment: context.request().identity.deployment })) {
        assertTrue(!JSON.stringify(summary).includes(secret), 'the list is without it')
      }
    },
  ],
  [
    'LIFE-32',
    'state.unknown-member',
    'refuses states with a member too many, one too few or of another type',
    async (context) => {
      const { stateSchema } = context.client
      const { state } = await context.create()
      assertTrue(!stateSchema.safeParse({ ...state, injected: true }).success, 'a member too many is refused')
      for (const name of Object.keys(state)) {
        const { [name]: _left, ...rest } = state
        assertTrue(!stateSchema.safeParse(rest).success, `a state without ${name} is refused`)
        for (const wrong of [null, [], {}, Number.NaN, { toString: 'x' }]) {
          if (JSON.stringify(state[name]) === JSON.stringify(wrong)) continue
          assertTrue(
            !stateSchema.safeParse({ ...state, [name]: wrong }).success,
            `${name} as ${JSON.stringify(wrong)} is refused`,
          )
        }
      }
      for (const wrong of [null, undefined, 'x', 1, [], [state]]) {
        assertTrue(!stateSchema.safeParse(wrong).success, `${JSON.stringify(wrong)} is no state`)
      }
    },
  ],
  [
    'LIFE-32',
    'state.traversal',
    'refuses pointers with steps up, slashes or NUL in place of an id',
    async (context) => {
      const { state } = await context.create()
      for (const [name, value] of Object.entries(state)) {
        if (typeof value !== 'string') continue
        for (const wrong of ['../../../etc', `${value}/../x`, `${value}\0`, '']) {
          const parsed = context.client.stateSchema.safeParse({ ...state, [name]: wrong })
          if (!parsed.success) continue
          // What the schema lets through leads to nothing that is there.
          const presence = await context.client.probe(parsed.data).catch(() => 'absent')
          assertEqual(presence, 'absent', `presence with ${name} = ${JSON.stringify(wrong)}`)
        }
      }
    },
  ],
  [
    'LIFE-33',
    'probe.presence',
    'tells running, stopped and absent apart',
    async (context) => {
      const sandbox = await context.create()
      assertEqual(await context.client.probe(sandbox.state), 'stopped', 'before start')
      await sandbox.start({ fence: 1n })
      assertEqual(await context.client.probe(sandbox.state), 'running', 'after start')
      await sandbox.stop()
      assertEqual(await context.client.probe(sandbox.state), 'stopped', 'after stop')
      await context.client.delete(sandbox.state)
      assertEqual(await context.client.probe(sandbox.state), 'absent', 'after delete')
    },
    needs('persistentWorkspace'),
  ],
  [
    'LIFE-34',
    'list.identity',
    'lists sandboxes by deployment, slot and session, with a state that finds them',
    async (context) => {
      const base = context.request().identity
      const shared = { ...base, slotHash: `aa${Buffer.from(context.nonce).toString('hex')}` }
      const a = context.request({ identity: { ...shared, sessionId: `${context.nonce}-a` } })
      const b = context.request({ identity: { ...shared, sessionId: `${context.nonce}-b` } })
      const made = [await context.create(a), await context.create(b)]
      const collect = async (filter: Parameters<typeof context.client.list>[0]): Promise<SandboxSummary[]> => {
        const found: SandboxSummary[] = []
        for await (const summary of context.client.list(filter)) found.push(summary)
        return found
      }
      const bySlot = await collect({ deployment: shared.deployment, slotHash: shared.slotHash })
      assertEqual(bySlot.map((each) => each.name).sort(), [a.name, b.name].sort(), 'names by slot')
      const [only, ...more] = await collect({ deployment: shared.deployment, sessionId: b.identity.sessionId })
      assertEqual(more.length, 0, 'others by session')
      assertEqual(only?.identity, b.identity, 'identity by session')
      assertEqual(only?.id, made[1]!.id, 'id by session')
      assertEqual(
        only === undefined ? undefined : await context.client.probe(only.state),
        'stopped',
        'probe by the listed state',
      )
      const byDeployment = await collect({ deployment: shared.deployment })
      for (const request of [a, b])
        assertTrue(
          byDeployment.some((each) => each.name === request.name),
          `${request.name} by deployment`,
        )
      assertEqual(await collect({ deployment: `${shared.deployment}-other` }), [], 'sandboxes of another deployment')
    },
  ],
  [
    'LIFE-35',
    'resume.gone',
    'says sandbox_gone for what is confirmed absent',
    async (context) => {
      const request = context.request()
      const sandbox = await context.create(request)
      await context.client.delete(sandbox.state)
      await assertCode(context.client.resume(sandbox.state, request), 'sandbox_gone', 'resume after delete')
      for await (const summary of context.client.list({ ...request.identity })) {
        assertEqual(summary.name, undefined, 'a sandbox that a resume made')
      }
    },
  ],
  [
    'LIFE-36',
    'resume.plan-changed',
    'says plan_changed for another plan, and resumes it with plan: any',
    async (context) => {
      const request = context.request()
      const sandbox = await context.create(request)
      await sandbox.start({ fence: 1n })
      await sandbox.files.write(`${sandbox.paths.workspace}/work`, new Uint8Array([1]))
      const kind = context.features.network.find((each) => each !== request.network.kind)!
      const network = kind === 'policy' ? { kind, allow: [] } : { kind }
      const changed = { ...request, network }
      await assertCode(context.client.resume(sandbox.state, changed), 'plan_changed', 'resume with another network')
      const old = await context.client.resume(sandbox.state, changed, { plan: 'any' })
      context.defer(async () => old[Symbol.asyncDispose]())
      await old.start({ fence: 2n })
      assertEqual((await old.files.stat(`${old.paths.workspace}/work`))?.sizeBytes, 1, 'work in the old sandbox')
    },
    (features) =>
      (features.reattach && features.network.length > 1) || 'it cannot reattach, or its plan has nothing to change',
  ],
  [
    'LIFE-37',
    'resume.todays-environment',
    'runs commands in the environment of the resume, not of the create',
    async (context) => {
      const request = context.request()
      const first = await context.create({
        ...request,
        environment: { ...request.environment, SEEN: 'old', GONE: 'old' },
      })
      await first.start({ fence: 1n })
      const today = { ...request, environment: { ...request.environment, SEEN: 'new' } }
      const second = await context.client.resume(first.state, today)
      context.defer(async () => second[Symbol.asyncDispose]())
      await second.start({ fence: 2n })
      assertEqual(await context.output(second, 'echo $SEEN-$GONE-'), 'new--\n', 'what a command sees')
    },
    needs('reattach'),
  ],
  [
    'LIFE-38',
    'resume.foreign-state',
    "does not hand over a sandbox of another slot for a state that somebody else's request brings",
    async (context) => {
      const mine = context.request()
      const theirs = await context.create(context.request())
      await assertCode(
        context.client.resume(theirs.state, mine),
        'sandbox_gone',
        'resume with the state of another slot',
      )
    },
    needs('reattach'),
  ],
])
