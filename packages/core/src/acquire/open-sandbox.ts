import type { CreateSandbox, SandboxClient } from '../contracts/client.js'
import type { Sandbox } from '../contracts/sandbox.js'
import type { SandboxState } from '../contracts/sandbox.js'
import type { SnapshotRef } from '../contracts/snapshot.js'
import { isSandboxError, SandboxError } from '../errors/sandbox-error.js'
import { failpoint } from '../failpoint.js'
import type { SessionRecord } from '../session/session-record.js'
import { assertRequirements } from './check-requirements.js'
import { newIncarnation, sandboxName } from './claim-slot.js'
import type { HostContext } from './host-context.js'
import { hasMarker } from './ready-marker.js'
import { engineOf, saveWorkspace, specOf } from './save-workspace.js'
import type { Claim, OpenedSandbox } from './turn.js'

export interface OpenSandboxRequest {
  readonly backend: string
  /** Everything but the name, which the record decides. */
  readonly plan: Omit<CreateSandbox, 'name' | 'identity'>
  readonly signal?: AbortSignal
}

/** Finds the sandbox that the record points to, or makes one, and starts it. */
export async function openSandbox(
  context: HostContext,
  claim: Claim,
  request: OpenSandboxRequest,
): Promise<OpenedSandbox> {
  const { keeper } = claim
  await carryOver(context, claim, request)
  const client = clientOf(context, request.backend)
  const found = await reattach(context, claim, { client, request })
  const sandbox = found ?? (await create(context, claim, { client, request }))
  failpoint('acquire.created')
  try {
    assertRequirements(sandbox.features, request.plan.requires, request.backend)
    // What a holder who never released left running must end before anything looks at the workspace.
    if (found !== null && claim.tookOver && !sandbox.features.fencing) await sandbox.stop()
    await sandbox.start({ fence: BigInt(keeper.record.fence), ...signalOf(request) })
    failpoint('acquire.started')
  } catch (error) {
    if (found === null) await removeUnused(client, sandbox, error)
    else await sandbox[Symbol.asyncDispose]()
    throw error
  }
  return { sandbox, client, created: found === null, mounts: request.plan.mounts }
}

export function clientOf(context: HostContext, backend: string): SandboxClient {
  const client = context.backends.get(backend)
  if (client !== undefined) return client
  const known = [...context.backends.keys()].join(', ')
  throw new SandboxError(
    'invalid_argument',
    `there is no backend ${backend}; this host has ${known === '' ? 'none' : known}. Add its plugin to createHost.`,
    { argument: 'backend', reason: `unknown backend ${backend}` },
  )
}

/** State as the backend's own schema reads it. Throws `state_corrupt`. */
export function parseSandboxState(client: SandboxClient, record: SessionRecord): SandboxState {
  const parsed = client.stateSchema.safeParse(record.sandboxState)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const reason =
    `state of backend ${client.backendId}: ${issue?.path.map(String).join('.') ?? ''} ${issue?.message ?? ''}`.trim()
  throw new SandboxError('state_corrupt', `the record of ${record.slot} cannot be used: ${reason}`, {
    key: record.slot,
    reason,
  })
}

function createRequest(context: HostContext, claim: Claim, request: OpenSandboxRequest): CreateSandbox {
  const { record } = claim.keeper
  return {
    ...request.plan,
    name: record.sandboxName,
    identity: { deployment: context.deployment, slotHash: claim.hash, sessionId: record.sessionId },
  }
}

/** A create that failed may have happened all the same: what it made is looked for and goes. */
async function create(
  context: HostContext,
  claim: Claim,
  at: { readonly client: SandboxClient; readonly request: OpenSandboxRequest },
): Promise<Sandbox> {
  const { keeper } = claim
  try {
    return await at.client.create(createRequest(context, claim, at.request), signalOf(at.request))
  } catch (error) {
    if (keeper.lost.aborted) throw error
    try {
      await removeByName(context, claim, at.client)
    } catch {
      // Nobody can tell now. The record keeps its name, so that the next claim finds it and a reaper removes it.
      await keeper.write((record) => ({ ...record, compute: 'parked' })).catch(() => undefined)
    }
    throw error
  }
}

async function removeByName(context: HostContext, claim: Claim, client: SandboxClient): Promise<void> {
  const filter = { deployment: context.deployment, slotHash: claim.hash }
  for await (const summary of client.list(filter)) {
    if (summary.name === claim.keeper.record.sandboxName) await client.delete(summary.state)
  }
}

async function reattach(
  context: HostContext,
  claim: Claim,
  at: { readonly client: SandboxClient; readonly request: OpenSandboxRequest },
): Promise<Sandbox | null> {
  const { record } = claim.keeper
  if (record.sandboxState === null) return null
  const state = parseSandboxState(at.client, record)
  if (!at.client.features.reattach) {
    // Nobody can use it again, so it goes; what it held is in the snapshot.
    await at.client.delete(state, signalOf(at.request))
    return null
  }
  try {
    return await at.client.resume(state, createRequest(context, claim, at.request), signalOf(at.request))
  } catch (error) {
    if (isSandboxError(error, 'sandbox_gone')) return null
    if (!isSandboxError(error, 'plan_changed')) throw error
    await moveOut(context, claim, { client: at.client, request: at.request, why: error })
    return null
  }
}

/** Work that lies at another backend is saved there before this one takes over. */
async function carryOver(context: HostContext, claim: Claim, request: OpenSandboxRequest): Promise<void> {
  const { record } = claim.keeper
  if (record.backend === request.backend) return
  if (record.sandboxState === null || record.compute === 'none') {
    await claim.keeper.write((old) => replaced(old, claim.hash, { backend: request.backend, snapshot: old.snapshot }))
    return
  }
  const client = clientOf(context, record.backend)
  await moveOut(context, claim, { client, request, why: null })
}

interface MoveOutRequest {
  readonly client: SandboxClient
  readonly request: OpenSandboxRequest
  readonly why: SandboxError | null
}

/** Saves what the old sandbox holds, points the record to a new one, and removes the old. */
async function moveOut(context: HostContext, claim: Claim, from: MoveOutRequest): Promise<void> {
  const { keeper, hash } = claim
  const state = parseSandboxState(from.client, keeper.record)
  const saved = await saveOld(context, claim, from)
  await keeper.write((record) =>
    replaced(record, hash, { backend: from.request.backend, snapshot: saved ?? record.snapshot }, saved !== null),
  )
  failpoint('acquire.moved')
  await from.client.delete(state)
}

/** Null when the sandbox is gone or its workspace is not whole: what the record points to is the newest then. */
async function saveOld(context: HostContext, claim: Claim, from: MoveOutRequest): Promise<SnapshotRef | null> {
  const { keeper, hash } = claim
  const { record } = keeper
  const signal = signalOf(from.request)
  const request = createRequest(context, claim, from.request)
  let old: Sandbox
  try {
    old = await from.client.resume(parseSandboxState(from.client, record), request, { plan: 'any', ...signal })
  } catch (error) {
    if (isSandboxError(error, 'sandbox_gone')) return null
    throw error
  }
  try {
    if (claim.tookOver && !old.features.fencing) await old.stop()
    await old.start({ fence: BigInt(record.fence), ...signal })
    await engineOf(context, record.snapshot ?? specOf(record)).recover(old)
    if (!record.workspaceReady || !(await hasMarker(old, record))) return null
    const saved = await saveWorkspace(context, { record, hash, sandbox: old, ...signal })
    if (saved === null) throw from.why ?? cannotCarry(record)
    return saved
  } finally {
    await old[Symbol.asyncDispose]()
  }
}

/** For a new sandbox, whose workspace comes from the snapshot. */
function replaced(
  record: SessionRecord,
  hash: string,
  to: Pick<SessionRecord, 'backend' | 'snapshot'>,
  saved = false,
): SessionRecord {
  const incarnation = newIncarnation()
  return {
    ...record,
    ...to,
    incarnation,
    sandboxName: sandboxName(hash, incarnation),
    sandboxState: null,
    unsaved: record.unsaved && !saved,
    compute: 'none',
  }
}

function cannotCarry(record: SessionRecord): SandboxError<'plan_changed'> {
  return new SandboxError(
    'plan_changed',
    `${record.slot} has its workspace at backend ${record.backend}, and snapshots of kind none cannot carry it over`,
    { changed: ['backend'] },
  )
}

/** After a failed start of a sandbox that nobody has used. */
async function removeUnused(client: SandboxClient, sandbox: Sandbox, because: unknown): Promise<void> {
  try {
    await sandbox[Symbol.asyncDispose]()
    await client.delete(sandbox.state)
  } catch (error) {
    throw new AggregateError([because, error], 'the sandbox could not be started, nor removed again')
  }
}

function signalOf(request: { readonly signal?: AbortSignal }): { readonly signal?: AbortSignal } {
  return request.signal === undefined ? {} : { signal: request.signal }
}
