import { assertNotAborted, SandboxError } from '@cofferdam/core/plugin'
import type {
  BackendFeatures,
  ClientCallOptions,
  CreateSandbox,
  IdentityFilter,
  ResumeOptions,
  Sandbox,
  SandboxClient,
  SandboxPresence,
  SandboxSummary,
} from '@cofferdam/core/plugin'
import type { ZodType } from 'zod'
import { argumentError } from './file-errors.js'
import { changedMembers, describePlan, refuseUnsupported } from './memory-plan.js'
import { MEMORY_FEATURES } from './memory-features.js'
import { MemorySandbox } from './memory-sandbox.js'
import { memoryStateSchema, stateOf } from './memory-state.js'
import type { MemoryState } from './memory-state.js'
import type { MemoryWorld } from './memory-world.js'
import { Machine } from './process/machine.js'

/** A client of one world. */
export class MemoryClient implements SandboxClient<MemoryState> {
  readonly backendId = 'memory'
  readonly features: BackendFeatures = MEMORY_FEATURES
  readonly stateSchema: ZodType<MemoryState> = memoryStateSchema
  readonly #world: MemoryWorld

  constructor(world: MemoryWorld) {
    this.#world = world
  }

  async create(request: CreateSandbox, options: ClientCallOptions = {}): Promise<Sandbox<MemoryState>> {
    assertNotAborted(options.signal, 'create')
    refuseUnsupported(request)
    const plan = describePlan(request)
    const existing = this.#byName(request)
    if (existing !== undefined) {
      this.#assertPlan(existing, plan)
      return new MemorySandbox(existing, request.environment, (gone) => this.#world.machines.delete(gone.id))
    }
    const machine = new Machine(request, plan, this.#world.parts)
    this.#world.machines.set(machine.id, machine)
    return new MemorySandbox(machine, request.environment, (gone) => this.#world.machines.delete(gone.id))
  }

  async resume(state: MemoryState, request: CreateSandbox, options: ResumeOptions = {}): Promise<Sandbox<MemoryState>> {
    assertNotAborted(options.signal, 'resume')
    const machine = this.#find(state)
    const { identity } = request
    // A state is untrusted: it leads to nobody else's sandbox.
    if (machine?.identity.deployment !== identity.deployment || machine.identity.slotHash !== identity.slotHash) {
      throw new SandboxError(
        'sandbox_gone',
        `there is no sandbox ${state.id}`,
        { sandbox: state.id },
        { backend: 'memory' },
      )
    }
    if (options.plan !== 'any') {
      refuseUnsupported(request)
      this.#assertPlan(machine, describePlan(request))
    }
    return new MemorySandbox(machine, request.environment, (gone) => this.#world.machines.delete(gone.id))
  }

  async probe(state: MemoryState, options: ClientCallOptions = {}): Promise<SandboxPresence> {
    assertNotAborted(options.signal, 'probe')
    return this.#find(state)?.presence ?? 'absent'
  }

  async delete(state: MemoryState, options: ClientCallOptions = {}): Promise<void> {
    assertNotAborted(options.signal, 'delete')
    const machine = this.#find(state)
    machine?.remove()
    if (machine !== undefined) this.#world.machines.delete(machine.id)
  }

  async *list(filter: IdentityFilter, options: ClientCallOptions = {}): AsyncGenerator<SandboxSummary<MemoryState>> {
    for (const machine of [...this.#world.machines.values()]) {
      assertNotAborted(options.signal, 'list')
      const { id, name, identity, presence, createdAtMs } = machine
      if (identity.deployment !== filter.deployment) continue
      if (filter.slotHash !== undefined && identity.slotHash !== filter.slotHash) continue
      if (filter.sessionId !== undefined && identity.sessionId !== filter.sessionId) continue
      yield { id, name, identity, presence, createdAtMs, state: stateOf(machine) }
    }
  }

  /** Leaves every sandbox as it is. */
  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve()
  }

  #find(state: MemoryState): Machine | undefined {
    const parsed = memoryStateSchema.safeParse(state)
    if (!parsed.success) throw argumentError('state', 'it is no state of the memory backend')
    const machine = this.#world.machines.get(parsed.data.id)
    return machine?.name === state.name && machine.identity.deployment === state.deployment ? machine : undefined
  }

  #byName(request: CreateSandbox): Machine | undefined {
    for (const machine of this.#world.machines.values()) {
      if (machine.name === request.name && machine.identity.deployment === request.identity.deployment) return machine
    }
    return undefined
  }

  #assertPlan(machine: Machine, plan: string): void {
    if (machine.plan === plan) return
    const changed = changedMembers(machine.plan, plan)
    throw new SandboxError(
      'plan_changed',
      `sandbox ${machine.name} was made from another plan: ${changed.join(', ')}`,
      { changed },
      {
        backend: 'memory',
      },
    )
  }
}

/** A client of the world; any number of them may share one. */
export function createMemoryClient(world: MemoryWorld): SandboxClient<MemoryState> {
  return new MemoryClient(world)
}
