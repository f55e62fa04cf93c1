import type { Clock } from '@cofferdam/core/plugin'
import type { MemoryTree } from '../tree/memory-tree.js'
import type { DirNode } from '../tree/nodes.js'
import type { FileUser, OpenFile } from './open-file.js'
import { ProcessEnded, SIGNAL_NUMBERS } from './process-death.js'
import type { DeathSignal, ProcessDeath } from './process-death.js'
import { WakeList } from './wake-list.js'

/** Steps between two turns of the event loop: a busy command must not keep everybody else from running. */
const STEPS_PER_TURN = 64

export interface ForkOptions {
  readonly environment?: ReadonlyMap<string, string>
  /** In a session and process group of its own. */
  readonly newSession?: boolean
  /** As a command of a shell without job control that was started with `&`: it reads nothing and ignores SIGINT. */
  readonly background?: boolean
}

/** A program: reads and writes by its process's descriptors and returns its exit code. */
export type Program = (process: MemoryProcess, args: readonly string[]) => Promise<number>

/** The machine, as a process sees it. */
export interface ProcessHost {
  readonly clock: Clock
  readonly tree: MemoryTree
  /** What is installed, by name. */
  readonly programs: ReadonlyMap<string, Program>
  /** Every living process, by its number. */
  readonly processes: ReadonlyMap<number, MemoryProcess>
  /** Processes stand where they are. */
  readonly isHeld: boolean
  /** Woken when they may go on. */
  readonly released: WakeList
  /** Gives a new process its number. */
  register(process: MemoryProcess): number
  unregister(process: MemoryProcess): void
  /** Returns a function that calls it off. */
  schedule(callback: () => void, delayMs: number): () => void
  /** The interpreter itself went wrong. */
  reportDefect(error: unknown): void
}

/** The command that a process belongs to. */
export interface ProcessOwner {
  readonly machine: ProcessHost
  readonly living: Set<MemoryProcess>
}

/**
 * One process: descriptors, directory, environment, signals. Its body is an async function, which meets its end at the
 * next `checkpoint`, `block`, read or write; nothing it does after that has any effect.
 */
export class MemoryProcess implements FileUser {
  readonly pid: number
  readonly machine: ProcessHost
  readonly owner: ProcessOwner
  readonly ended: WakeList = new WakeList()
  readonly files: Map<number, OpenFile> = new Map()
  environment: ReadonlyMap<string, string>
  directory: DirNode
  parent: MemoryProcess | null
  group: number
  command = 'sh'
  death: ProcessDeath | null = null
  /** Signals that a shell has a trap for; null ignores. */
  readonly traps: Map<DeathSignal, string | null> = new Map()
  readonly pending: DeathSignal[] = []
  readonly #wake = new WakeList()
  #stopped = false
  #steps = 0

  constructor(
    owner: ProcessOwner,
    parent: MemoryProcess | null,
    options: ForkOptions & { readonly directory: DirNode },
  ) {
    this.machine = owner.machine
    this.owner = owner
    this.parent = parent
    this.pid = this.machine.register(this)
    this.directory = options.directory
    this.environment = options.environment ?? parent?.environment ?? new Map()
    this.group = parent === null || options.newSession === true ? this.pid : parent.group
  }

  /** The file system. Throws when the process is dead, so that nothing is changed from beyond. */
  get tree(): MemoryTree {
    this.#assertAlive()
    return this.machine.tree
  }

  /** Starts a child that runs `body` and exits with what it returns. */
  fork(body: (child: MemoryProcess) => Promise<number>, options: ForkOptions = {}): MemoryProcess {
    this.#assertAlive()
    const child = new MemoryProcess(this.owner, this, { ...options, directory: this.directory })
    for (const [fd, file] of this.files) child.setFile(fd, file)
    for (const [signal, action] of this.traps) if (action === null) child.traps.set(signal, null)
    child.run(body)
    return child
  }

  run(body: (process: MemoryProcess) => Promise<number>): void {
    body(this).then(
      (exitCode) => this.end({ exitCode: exitCode & 0xff, signal: null }),
      (error: unknown) => {
        if (!(error instanceof ProcessEnded)) this.machine.reportDefect(error)
        this.end({ exitCode: 70, signal: null })
      },
    )
  }

  setFile(fd: number, file: OpenFile): void {
    file.retain()
    this.files.get(fd)?.release()
    this.files.set(fd, file)
  }

  closeFile(fd: number): void {
    this.files.get(fd)?.release()
    this.files.delete(fd)
  }

  async write(fd: number, bytes: Uint8Array): Promise<void> {
    const file = this.files.get(fd)
    if (file === undefined) await this.checkpoint()
    else await file.write(this, bytes)
  }

  async read(fd: number, maxBytes = 65_536): Promise<Uint8Array | null> {
    const file = this.files.get(fd)
    if (file !== undefined) return file.read(this, maxBytes)
    await this.checkpoint()
    return null
  }

  /** Waits until `register`'s callback is called. With `interruptible`, also until a signal that is trapped arrives. */
  async block(register: (wake: () => void) => () => void, interruptible = false): Promise<void> {
    this.#assertAlive()
    if (interruptible && this.pending.length > 0) return
    await new Promise<void>((resolve) => {
      const unregister = [register(done), this.ended.add(done), ...(interruptible ? [this.#wake.add(done)] : [])]
      function done(): void {
        for (const remove of unregister) remove()
        resolve()
      }
    })
    await this.checkpoint()
  }

  /** Every step of a body comes by here: it ends the dead, holds the stopped and lets others run. */
  async checkpoint(): Promise<void> {
    if (++this.#steps % STEPS_PER_TURN === 0) await new Promise<void>((resolve) => setImmediate(resolve))
    this.#assertAlive()
    while (this.#stopped || this.machine.isHeld) {
      await new Promise<void>((resolve) => {
        const unregister = [this.#wake.add(done), this.ended.add(done), this.machine.released.add(done)]
        function done(): void {
          for (const remove of unregister) remove()
          resolve()
        }
      })
      this.#assertAlive()
    }
  }

  async sleep(delayMs: number): Promise<void> {
    if (!Number.isFinite(delayMs)) return this.block(() => () => {})
    await this.block((wake) => this.machine.schedule(wake, delayMs))
  }

  async waitFor(child: MemoryProcess): Promise<ProcessDeath> {
    while (child.death === null) await this.block((wake) => child.ended.add(wake))
    return child.death
  }

  signal(signal: DeathSignal): void {
    if (this.death !== null) return
    if (signal === 'SIGKILL') return this.#dieOf(signal)
    if (signal === 'SIGSTOP') {
      this.#stopped = true
      return
    }
    if (signal === 'SIGCONT') {
      this.#stopped = false
      this.#wake.wakeAll()
    }
    const action = this.traps.get(signal)
    if (action === null) return
    if (action !== undefined) {
      this.pending.push(signal)
      this.#wake.wakeAll()
    } else if (signal !== 'SIGCONT' && signal !== 'SIGWINCH') this.#dieOf(signal)
  }

  /** Wrote to a pipe that nobody reads. */
  breakPipe(): never {
    this.signal('SIGPIPE')
    throw new ProcessEnded()
  }

  end(death: ProcessDeath): void {
    if (this.death !== null) return
    this.death = death
    for (const file of this.files.values()) file.release()
    this.files.clear()
    this.machine.unregister(this)
    this.ended.wakeAll()
  }

  #dieOf(signal: DeathSignal): void {
    this.end({ exitCode: 128 + SIGNAL_NUMBERS[signal], signal })
  }

  #assertAlive(): void {
    if (this.death !== null) throw new ProcessEnded()
  }
}
