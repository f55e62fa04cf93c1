import { randomUUID } from 'node:crypto'
import type { ProcessExit, ProcessInfo, Signal, SpawnRequest } from '@cofferdam/core/plugin'
import type { DirNode } from '../tree/nodes.js'
import { MemoryProcess } from './memory-process.js'
import type { ProcessHost, ProcessOwner } from './memory-process.js'
import { NULL_DEVICE, Pipe } from './open-file.js'
import { exitOf } from './process-death.js'
import { ProcessOutput } from './process-output.js'
import type { StreamCounter } from './process-output.js'

const COMMAND_CHARACTERS = 200
const DEFAULT_TIMEOUT_MS = 120_000

export interface TreePlan {
  readonly request: SpawnRequest
  readonly fence: bigint
  readonly directory: DirNode
  readonly environment: ReadonlyMap<string, string>
  readonly body: (process: MemoryProcess) => Promise<number>
}

/** The machine, as a command sees it. */
export interface TreeHost extends ProcessHost {
  readonly counter: StreamCounter
  /** Its own process has ended. */
  treeEnded(tree: ProcessTree): void
}

/** One spawned command with everything that it started, whatever session or parent that has by now. */
export class ProcessTree implements ProcessOwner {
  readonly id: string = `p-${randomUUID()}`
  readonly machine: TreeHost
  readonly request: SpawnRequest
  /** Of the holder who spawned it. */
  readonly fence: bigint
  readonly output: ProcessOutput
  readonly stdin: Pipe | null
  readonly root: MemoryProcess
  readonly living: Set<MemoryProcess> = new Set()
  aborted = false
  timedOut = false
  readonly #startedAtMs: number
  readonly #cleanup: (() => void)[] = []

  constructor(machine: TreeHost, plan: TreePlan) {
    const { request } = plan
    this.machine = machine
    this.request = request
    this.fence = plan.fence
    this.output = new ProcessOutput(machine.counter)
    this.stdin = request.stdin === 'pipe' ? new Pipe() : null
    this.#startedAtMs = machine.clock.nowMs()
    this.root = new MemoryProcess(this, null, plan)
    this.root.command = describeCommand(request.command)
    if (this.stdin !== null) this.stdin.writers++
    this.root.setFile(0, this.stdin?.reader ?? NULL_DEVICE)
    this.root.setFile(1, this.output.stdout)
    this.root.setFile(2, this.output.stderr)
    this.root.ended.add(() => this.#rootEnded())
    this.#watch()
    this.root.run(plan.body)
  }

  /** Null while the command runs. */
  get exit(): ProcessExit | null {
    const { death } = this.root
    return death === null ? null : { ...exitOf(death), timedOut: this.timedOut }
  }

  get info(): ProcessInfo {
    const { request, exit } = this
    return {
      id: this.id,
      operationId: request.operationId,
      command: describeCommand(request.command).slice(0, COMMAND_CHARACTERS),
      status: exit === null ? 'running' : 'ended',
      exit,
      background: request.background ?? false,
      keepOnPark: request.keepOnPark ?? false,
      startedAtMs: this.#startedAtMs,
    }
  }

  /** Sends a signal to every living process of the tree. The dead do nothing any more, so SIGKILL is proof. */
  kill(signal: Signal): void {
    for (const process of [...this.living]) process.signal(signal)
  }

  #watch(): void {
    const { signal, timeoutMs = DEFAULT_TIMEOUT_MS } = this.request
    if (timeoutMs > 0) {
      const expire = (): void => {
        this.timedOut = true
        this.kill('SIGKILL')
      }
      this.#cleanup.push(this.machine.schedule(expire, timeoutMs))
    }
    if (signal === undefined) return
    const abort = (): void => {
      this.aborted = true
      this.kill('SIGKILL')
    }
    signal.addEventListener('abort', abort, { once: true })
    this.#cleanup.push(() => signal.removeEventListener('abort', abort))
  }

  #rootEnded(): void {
    for (const clean of this.#cleanup.splice(0)) clean()
    this.output.end()
    this.machine.treeEnded(this)
  }
}

function describeCommand(command: string | readonly string[]): string {
  return typeof command === 'string' ? command : command.join(' ')
}
