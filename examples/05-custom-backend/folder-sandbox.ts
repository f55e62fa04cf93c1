import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createHostFiles } from '@cofferdam/core/host-files'
import { assertNotAborted, isSandboxError, SandboxError } from '@cofferdam/core/plugin'
import type {
  AttachedProcess,
  BackendFeatures,
  CreateSandbox,
  NativeSnapshotRef,
  PortEndpoint,
  ProcessInfo,
  ResourceUsage,
  Sandbox,
  SandboxFiles,
  SandboxPaths,
  SpawnRequest,
  StartOptions,
} from '@cofferdam/core/plugin'
import { FEATURES, unsupported } from './features.js'
import { FenceFile } from './fence-file.js'
import type { FolderProcess } from './folder-process.js'
import { endMarked, removeFolder } from './marked-processes.js'
import { notStarted, startCommand } from './start-command.js'

/** Enough to find it again: its name, which is a folder beneath the backend's own. */
export type FolderState = { readonly name: string }

/** What all handles of one sandbox in this process share. */
export interface FolderLife {
  running: boolean
  /** By operation id. */
  readonly processes: Map<string, Promise<FolderProcess>>
}

export interface FolderSandboxParts {
  readonly folder: string
  readonly request: CreateSandbox
  readonly life: FolderLife
}

/** A folder with a workspace, and the commands that run in it. */
export class FolderSandbox implements Sandbox<FolderState> {
  readonly id: string
  readonly state: FolderState
  readonly features: BackendFeatures = FEATURES
  readonly paths: SandboxPaths
  readonly files: SandboxFiles
  readonly #parts: FolderSandboxParts
  readonly #fences: FenceFile
  /** Under which this handle was started; null: it was not. */
  #fence: bigint | null = null

  constructor(parts: FolderSandboxParts) {
    const { folder, request } = parts
    this.id = request.name
    this.state = { name: request.name }
    this.#parts = parts
    this.#fences = new FenceFile(join(folder, 'fence'))
    this.paths = { workspace: join(folder, 'workspace'), control: join(folder, 'control') }
    this.files = createHostFiles({
      roots: Object.values(this.paths).map((path: string) => ({ path, readOnly: false })),
      beforeRead: () => this.#assertRunning(),
      beforeWrite: () => this.#assertRunning(),
    })
  }

  async start({ fence, signal }: StartOptions): Promise<void> {
    assertNotAborted(signal, 'start')
    this.#assertThere()
    const { life } = this.#parts
    if (fence < this.#fences.highest()) throw this.#leaseLost()
    // What a process before this one left running cannot be attached to any more.
    if (!life.running && life.processes.size === 0) await endMarked(this.id)
    if (!this.#fences.raise(fence)) throw this.#leaseLost()
    this.#fence = fence
    life.running = true
  }

  async spawn(request: SpawnRequest): Promise<FolderProcess> {
    assertNotAborted(request.signal, 'spawn')
    this.#assertRunning()
    for (const feature of ['tty', 'user', 'limits'] as const) {
      if (request[feature] !== undefined) throw unsupported(feature)
    }
    const { processes } = this.#parts.life
    const known = processes.get(request.operationId)
    if (known !== undefined) return known
    const starting = this.#start(request)
    processes.set(request.operationId, starting)
    starting.catch(() => processes.delete(request.operationId))
    return starting
  }

  async processes(): Promise<ProcessInfo[]> {
    this.#assertRunning()
    return (await this.#known()).map(({ info }) => info)
  }

  async attach(processId: string, options: { readonly fromOffset?: number } = {}): Promise<AttachedProcess> {
    this.#assertRunning()
    const process = (await this.#known()).find(({ id }) => id === processId)
    if (process !== undefined) return process.attach(options.fromOffset)
    throw new SandboxError('not_found', `there is no process ${processId}`, { path: processId })
  }

  async stop(): Promise<void> {
    this.#assertNotOvertaken()
    this.#parts.life.running = false
    await endMarked(this.id)
  }

  async shutdown(): Promise<void> {
    this.#assertNotOvertaken()
    await removeFolder(this.#parts.folder, this.id)
    this.#parts.life.running = false
    this.#parts.life.processes.clear()
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  readonly freeze = (): Promise<void> => Promise.reject(unsupported('freeze'))
  readonly thaw = (): Promise<void> => Promise.reject(unsupported('freeze'))
  readonly pause = (): Promise<void> => Promise.reject(unsupported('pause'))
  readonly unpause = (): Promise<void> => Promise.reject(unsupported('pause'))
  readonly endpoint = (): Promise<PortEndpoint> => Promise.reject(unsupported('ports'))
  readonly snapshotNative = (): Promise<NativeSnapshotRef> => Promise.reject(unsupported('nativeSnapshot'))

  usage(): Promise<ResourceUsage> {
    return Promise.resolve({ cpuMs: null, memoryBytes: null, processes: null, diskBytes: null })
  }

  async #start(request: SpawnRequest): Promise<FolderProcess> {
    const cwd = request.cwd ?? this.paths.workspace
    if (!(await this.#isDirectory(cwd))) throw notStarted(`there is no directory ${cwd}`)
    return startCommand(request, { sandbox: this.id, cwd, environment: this.#parts.request.environment })
  }

  async #isDirectory(path: string): Promise<boolean> {
    try {
      return (await this.files.stat(path))?.type === 'directory'
    } catch (error) {
      if (isSandboxError(error, 'not_a_directory')) return false
      throw error
    }
  }

  async #known(): Promise<FolderProcess[]> {
    const started = await Promise.allSettled(this.#parts.life.processes.values())
    return started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  }

  #assertThere(): void {
    if (existsSync(this.paths.control)) return
    throw new SandboxError('sandbox_gone', `the sandbox ${this.id} is no longer there`, { sandbox: this.id })
  }

  #assertRunning(): void {
    this.#assertThere()
    if (this.#fence === null || !this.#parts.life.running) {
      throw new SandboxError('not_running', 'the sandbox is stopped; start it', { status: 'stopped' })
    }
    this.#assertNotOvertaken()
  }

  /** Whoever comes after us runs things of its own, and they are not ours to end. */
  #assertNotOvertaken(): void {
    if (this.#fence !== null && this.#fences.highest() > this.#fence) throw this.#leaseLost()
  }

  #leaseLost(): SandboxError {
    return new SandboxError('lease_lost', 'another holder has started this sandbox since', { key: this.id })
  }
}
