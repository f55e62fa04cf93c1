import { assertNotAborted, SandboxError } from '@cofferdam/core/plugin'
import type {
  AttachedProcess,
  BackendFeatures,
  NativeSnapshotRef,
  PortEndpoint,
  ProcessInfo,
  ResourceUsage,
  Sandbox,
  SandboxFiles,
  SandboxPaths,
  SandboxProcess,
  SpawnRequest,
  StartOptions,
} from '@cofferdam/core/plugin'
import { argumentError, pathError } from './file-errors.js'
import { MEMORY_FEATURES } from './memory-features.js'
import { MemoryFiles } from './memory-files.js'
import { unsupported } from './memory-plan.js'
import { stateOf } from './memory-state.js'
import type { MemoryState } from './memory-state.js'
import { planSpawn } from './plan-spawn.js'
import type { Machine } from './process/machine.js'
import { TreeProcess } from './process/tree-process.js'
import type { DirNode } from './tree/nodes.js'

/** One holder's handle on a machine. */
export class MemorySandbox implements Sandbox<MemoryState> {
  readonly #machine: Machine
  readonly #environment: Readonly<Record<string, string>>
  readonly #onRemoved: (machine: Machine) => void
  readonly #processes = new Map<string, SandboxProcess>()
  #files: SandboxFiles | undefined
  /** Of the last start through this handle; null before. */
  #fence: bigint | null = null
  #disposed = false

  constructor(machine: Machine, environment: Readonly<Record<string, string>>, onRemoved: (machine: Machine) => void) {
    this.#machine = machine
    this.#environment = environment
    this.#onRemoved = onRemoved
  }

  get id(): string {
    return this.#machine.id
  }

  get state(): MemoryState {
    return stateOf(this.#machine)
  }

  get features(): BackendFeatures {
    return MEMORY_FEATURES
  }

  get paths(): SandboxPaths {
    return this.#machine.paths
  }

  get files(): SandboxFiles {
    this.#files ??= new MemoryFiles(this.#machine, (access) => this.#assertUsable(access))
    return this.#files
  }

  async start(options: StartOptions): Promise<void> {
    assertNotAborted(options.signal, 'start')
    this.#assertThere()
    if (options.fence < this.#machine.fence) throw this.#leaseLost()
    this.#fence = options.fence
    this.#machine.start(this, options.fence)
  }

  async spawn(request: SpawnRequest): Promise<SandboxProcess> {
    assertNotAborted(request.signal, 'spawn')
    this.#assertUsable('write')
    const known = this.#machine.findOperation(request.operationId)
    if (known !== undefined)
      return this.#processes.get(known.id) ?? new TreeProcess(known, known.output.ring.firstOffset)
    const plan = planSpawn(this.#machine, request, this.#environment)
    const tree = this.#machine.spawn({ ...plan, request, fence: this.#fence! })
    const process = new TreeProcess(tree, null)
    this.#processes.set(tree.id, process)
    tree.root.ended.add(() => this.#processes.delete(tree.id))
    return process
  }

  async processes(): Promise<ProcessInfo[]> {
    this.#assertUsable('read')
    return this.#machine.trees.map((tree) => tree.info)
  }

  async attach(processId: string, options: { readonly fromOffset?: number } = {}): Promise<AttachedProcess> {
    this.#assertUsable('read')
    const tree = this.#machine.findTree(processId)
    if (tree === undefined) throw pathError('not_found', processId, 'attach')
    const { ring } = tree.output
    const asked = options.fromOffset ?? ring.firstOffset
    if (!Number.isInteger(asked) || asked < 0) throw argumentError('fromOffset', 'an offset is a whole number from 0')
    const firstOffset = Math.min(Math.max(asked, ring.firstOffset), ring.endOffset)
    const droppedBytes = Math.max(0, firstOffset - asked)
    const availableBytes = ring.endOffset - firstOffset
    return { process: new TreeProcess(tree, firstOffset), firstOffset, droppedBytes, availableBytes }
  }

  async freeze(): Promise<void> {
    this.#assertUsable('write')
    this.#machine.setFrozen(true)
  }

  async thaw(): Promise<void> {
    this.#assertUsable('write')
    this.#machine.setFrozen(false)
  }

  async stop(): Promise<void> {
    this.#assertNotOvertaken()
    this.#machine.stop()
  }

  async shutdown(): Promise<void> {
    this.#assertNotOvertaken()
    this.#machine.remove()
    this.#onRemoved(this.#machine)
  }

  async pause(): Promise<void> {
    this.#assertNotOvertaken()
    if (this.#machine.presence === 'paused') return
    this.#assertUsable('write')
    this.#machine.setPaused(true)
  }

  async unpause(): Promise<void> {
    this.#assertThere()
    this.#assertNotOvertaken()
    if (this.#machine.presence === 'paused') this.#machine.setPaused(false)
    this.#assertUsable('write')
  }

  endpoint(): Promise<PortEndpoint> {
    return Promise.reject(unsupported('ports', 'there is no network'))
  }

  snapshotNative(): Promise<NativeSnapshotRef> {
    return Promise.reject(unsupported('nativeSnapshot', 'there are no native snapshots'))
  }

  async usage(): Promise<ResourceUsage> {
    this.#assertUsable('read')
    return {
      cpuMs: null,
      memoryBytes: null,
      processes: this.#machine.processes.size,
      diskBytes: diskBytes(this.#machine.tree.root),
    }
  }

  /** Lets go of the handle. What runs in the sandbox goes on. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true
    this.#machine.letGo(this)
    this.#processes.clear()
  }

  #assertThere(): void {
    if (this.#machine.presence === 'absent') {
      throw new SandboxError(
        'sandbox_gone',
        `sandbox ${this.id} no longer exists`,
        { sandbox: this.id },
        { backend: 'memory' },
      )
    }
    if (this.#disposed) throw this.#notRunning('disposed')
  }

  #assertUsable(access: 'read' | 'write'): void {
    this.#assertThere()
    if (this.#fence === null) throw this.#notRunning('created')
    if (access === 'write' && this.#fence < this.#machine.fence) throw this.#leaseLost()
    if (this.#machine.presence !== 'running') throw this.#notRunning(this.#machine.presence)
  }

  /** What a later holder runs is not ours to end. A handle that was never started has no fence to lose. */
  #assertNotOvertaken(): void {
    if (this.#machine.presence === 'absent' || this.#fence === null) return
    if (this.#fence < this.#machine.fence) throw this.#leaseLost()
  }

  #notRunning(status: string): SandboxError<'not_running'> {
    const message = `sandbox ${this.id} is ${status}; call start with your fence first`
    return new SandboxError('not_running', message, { status }, { backend: 'memory' })
  }

  #leaseLost(): SandboxError<'lease_lost'> {
    const message = `sandbox ${this.id} was started by a later holder (fence ${this.#machine.fence})`
    return new SandboxError('lease_lost', message, { key: this.#machine.name }, { backend: 'memory' })
  }
}

function diskBytes(directory: DirNode): number {
  let sum = 0
  for (const node of directory.entries.values()) {
    if (node.type === 'directory') sum += diskBytes(node)
    else if (node.type === 'file') sum += node.sizeBytes
  }
  return sum
}
