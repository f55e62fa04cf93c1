import { randomBytes } from 'node:crypto'
import type { Clock, CreateSandbox, SandboxIdentity, SandboxPaths, SandboxPresence } from '@cofferdam/core/plugin'
import { MemoryTree } from '../tree/memory-tree.js'
import type { DirNode } from '../tree/nodes.js'
import type { Timers } from '../timers.js'
import type { MemoryProcess, Program } from './memory-process.js'
import type { StreamCounter } from './process-output.js'
import { ProcessTree } from './process-tree.js'
import type { TreeHost, TreePlan } from './process-tree.js'
import { WakeList } from './wake-list.js'

const CONTROL = '/.cofferdam-control'
/** How many ended commands a sandbox remembers, with the end of their output. */
const ENDED_KEPT = 64

export interface MachineParts {
  readonly clock: Clock
  readonly timers: Timers
  readonly counter: StreamCounter
  /** What is installed, by name. */
  readonly programs: ReadonlyMap<string, Program>
}

/** What the provider has of one sandbox: its files, its processes and who holds it. Handles come and go. */
export class Machine implements TreeHost {
  readonly id: string = `mem-${randomBytes(8).toString('hex')}`
  readonly name: string
  readonly identity: SandboxIdentity
  /** What it was made from, in one comparable text. */
  readonly plan: string
  readonly paths: SandboxPaths
  readonly tree: MemoryTree
  readonly workspace: DirNode
  readonly control: DirNode
  readonly createdAtMs: number
  readonly clock: Clock
  readonly counter: StreamCounter
  readonly programs: ReadonlyMap<string, Program>
  readonly released: WakeList = new WakeList()
  readonly processes: Map<number, MemoryProcess> = new Map()
  presence: SandboxPresence = 'stopped'
  /** The highest fence seen. */
  fence = 0n
  readonly #timers: Timers
  readonly #trees = new Map<string, ProcessTree>()
  readonly #operations = new Map<string, ProcessTree>()
  readonly #defects: unknown[] = []
  /** Handles under the highest fence that were not disposed. */
  readonly #holders = new Set<object>()
  #frozen = false
  #nextPid = 100

  constructor(request: CreateSandbox, plan: string, parts: MachineParts) {
    this.name = request.name
    this.identity = request.identity
    this.plan = plan
    this.paths = { workspace: request.workspaceRoot, control: CONTROL }
    this.clock = parts.clock
    this.counter = parts.counter
    this.programs = parts.programs
    this.#timers = parts.timers
    this.createdAtMs = parts.clock.nowMs()
    this.tree = new MemoryTree(parts.clock)
    this.workspace = this.#makeDirectory(request.workspaceRoot, 0o755)
    this.control = this.#makeDirectory(CONTROL, 0o700)
    this.#makeDirectory('/tmp', 0o1777)
  }

  /** Frozen or paused: processes stand where they are. */
  get isHeld(): boolean {
    return this.#frozen || this.presence === 'paused'
  }

  /** What went wrong in the interpreter itself; a test of it looks here. */
  get defects(): readonly unknown[] {
    return this.#defects
  }

  get trees(): readonly ProcessTree[] {
    return [...this.#trees.values()]
  }

  /**
   * A holder begins. What earlier holders left running ends; only when they let go in order does what they asked to keep
   * go on, as nobody knows what a holder who vanished was in the middle of.
   */
  start(holder: object, fence: bigint): void {
    if (fence > this.fence) {
      const vanished = [...this.#holders].some((each) => each !== holder)
      for (const tree of this.trees) if (vanished || tree.request.keepOnPark !== true) tree.kill('SIGKILL')
      this.#holders.clear()
      this.fence = fence
    }
    this.#holders.add(holder)
    this.presence = 'running'
    this.setFrozen(false)
  }

  letGo(holder: object): void {
    this.#holders.delete(holder)
  }

  stop(): void {
    if (this.presence === 'absent') return
    this.presence = 'stopped'
    this.killAll()
    this.setFrozen(false)
  }

  remove(): void {
    this.presence = 'absent'
    this.killAll()
    this.#trees.clear()
    this.#operations.clear()
  }

  setPaused(paused: boolean): void {
    this.presence = paused ? 'paused' : 'running'
    this.released.wakeAll()
  }

  setFrozen(frozen: boolean): void {
    this.#frozen = frozen
    this.released.wakeAll()
  }

  spawn(plan: TreePlan): ProcessTree {
    const tree = new ProcessTree(this, plan)
    this.#trees.set(tree.id, tree)
    this.#operations.set(plan.request.operationId, tree)
    return tree
  }

  findTree(id: string): ProcessTree | undefined {
    return this.#trees.get(id)
  }

  findOperation(operationId: string): ProcessTree | undefined {
    return this.#operations.get(operationId)
  }

  /** Forgets the commands that ended longest ago and left nothing running. */
  treeEnded(_tree: ProcessTree): void {
    let surplus = -ENDED_KEPT
    for (const tree of this.#trees.values()) if (isOver(tree)) surplus++
    for (const tree of this.#trees.values()) {
      if (surplus <= 0) return
      if (!isOver(tree)) continue
      this.#trees.delete(tree.id)
      this.#operations.delete(tree.request.operationId)
      surplus--
    }
  }

  register(process: MemoryProcess): number {
    const pid = this.#nextPid++
    this.processes.set(pid, process)
    process.owner.living.add(process)
    return pid
  }

  unregister(process: MemoryProcess): void {
    this.processes.delete(process.pid)
    process.owner.living.delete(process)
  }

  schedule(callback: () => void, delayMs: number): () => void {
    return this.#timers.schedule(callback, delayMs)
  }

  reportDefect(error: unknown): void {
    this.#defects.push(error)
  }

  killAll(): void {
    for (const process of [...this.processes.values()]) process.signal('SIGKILL')
  }

  #makeDirectory(path: string, mode: number): DirNode {
    let directory = this.tree.root
    for (const name of path.split('/').filter((component) => component !== '')) {
      const found = directory.entries.get(name)
      if (found?.type === 'directory') {
        directory = found
        continue
      }
      const made = this.tree.newDirectory(mode)
      this.tree.add(directory, name, made)
      directory = made
    }
    return directory
  }
}

function isOver(tree: ProcessTree): boolean {
  return tree.exit !== null && tree.living.size === 0
}
