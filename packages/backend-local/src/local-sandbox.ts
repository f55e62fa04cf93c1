import { createDirectoryOpener, createHostFiles } from '@cofferdam/core/host-files'
import type { HostDirectory } from '@cofferdam/core/host-files'
import { assertNotAborted, isSandboxError, SandboxError } from '@cofferdam/core/plugin'
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
import { findLabels } from './labels.js'
import type { LocalState } from './local-state.js'
import { goneError, HolderFolder } from './holder.js'
import type { Turn } from './holder.js'
import { mapSpawnError } from './map-error.js'
import { openEndpoint } from './port-endpoint.js'
import { findAdopted } from './process/adopted-process.js'
import type { AdoptedProcess } from './process/adopted-process.js'
import { startChild } from './process/child.js'
import type { Child } from './process/child.js'
import type { Family } from './process/find-processes.js'
import { findFamily } from './process/find-processes.js'
import { holdStill, killFamily, signalFamily } from './process/kill-family.js'
import { LocalProcess } from './process/local-process.js'
import { measureUsage } from './process/measure-usage.js'
import { dropProcessTable, joinProcessTable, leaveProcessTable } from './process/process-table.js'
import type { ProcessTable } from './process/process-table.js'
import { planSpawn, programOf } from './process/plan-spawn.js'
import type { SpawnPlan } from './process/plan-spawn.js'
import { formatProcessMarker, PROCESS_VARIABLE, SANDBOX_VARIABLE } from './process/process-marker.js'
import type { TerminalStarter } from './pty/load-pty.js'
import type { SandboxFolder } from './sandbox-folder.js'

export interface LocalSandboxOptions {
  readonly folder: SandboxFolder
  readonly features: BackendFeatures
  /** The environment that was asked for. */
  readonly environment: Readonly<Record<string, string>>
  readonly path: string
  readonly keepEnded: number
  /** Undefined where there are no terminals. */
  readonly startTerminal: TerminalStarter | undefined
  readonly nowMs: () => number
  /** Removes it with everything of it. */
  readonly remove: () => Promise<void>
}

type Status = 'created' | 'running' | 'stopped' | 'gone' | 'let go'

/** One folder and the processes that were started for it. Nothing keeps them from the rest of the machine. */
export class LocalSandbox implements Sandbox<LocalState> {
  readonly id: string
  readonly state: LocalState
  readonly features: BackendFeatures
  readonly paths: SandboxPaths
  readonly files: SandboxFiles
  readonly #options: LocalSandboxOptions
  readonly #openDirectory: (path: string) => HostDirectory
  readonly #holder: HolderFolder
  readonly #processes: ProcessTable
  readonly #endpoints = new Set<PortEndpoint>()
  #status: Status = 'created'
  #turn: Turn | undefined
  #starting: Promise<void> | undefined
  /** Of our turns: what was spawned in them is ours to let go. */
  readonly #nonces = new Set<string>()
  #spawned = 0

  constructor(options: LocalSandboxOptions) {
    const { folder, features } = options
    this.#options = options
    this.#processes = joinProcessTable(folder.marker)
    this.id = folder.id
    this.state = Object.freeze({ version: 1, id: folder.id })
    this.features = features
    this.paths = Object.freeze({ workspace: folder.workspace, control: folder.control })
    this.#holder = new HolderFolder(folder.holder, folder.id)
    const roots = [
      { path: folder.workspace, readOnly: false },
      // What commands can link to must not become a way for tools to reach it.
      { path: folder.control, readOnly: false, direct: true },
    ]
    this.#openDirectory = createDirectoryOpener(roots)
    this.files = createHostFiles({
      roots,
      beforeRead: () => this.#assertThere(),
      beforeWrite: () => this.#assertHeld(),
    })
  }

  async start(options: StartOptions): Promise<void> {
    assertNotAborted(options.signal, 'start')
    while (this.#starting !== undefined) await this.#starting.catch(() => undefined)
    if (this.#status === 'gone') throw goneError(this.id)
    const turn = this.#turn
    if (this.#status === 'running' && turn !== undefined && turn.fence === options.fence && turn.held()) return
    this.#starting = this.#start(options).finally(() => (this.#starting = undefined))
    await this.#starting
  }

  async spawn(request: SpawnRequest): Promise<SandboxProcess> {
    assertNotAborted(request.signal, 'spawn')
    this.#assertHeld()
    return this.#processes.once(request.operationId, () => this.#spawn(request))
  }

  async processes(): Promise<ProcessInfo[]> {
    this.#assertThere()
    return [...this.#processes.all, ...this.#adopted()].map((process) => process.info())
  }

  async attach(processId: string, options: { readonly fromOffset?: number } = {}): Promise<AttachedProcess> {
    this.#assertThere()
    const found = this.#processes.find(processId) ?? this.#adopted().find(({ id }) => id === processId)
    if (found !== undefined) return found.attach(options.fromOffset)
    throw new SandboxError(
      'not_found',
      `Sandbox ${this.id} knows no process ${processId}.`,
      { path: processId },
      { backend: 'local' },
    )
  }

  async freeze(): Promise<void> {
    this.#assertHeld()
    if (!this.features.freeze) throw unsupported('freeze', 'processes cannot be found here')
    holdStill(this.#family)
  }

  async thaw(): Promise<void> {
    this.#assertHeld()
    if (!this.features.freeze) throw unsupported('freeze', 'processes cannot be found here')
    signalFamily(this.#family, 'SIGCONT')
  }

  async stop(): Promise<void> {
    if (this.#status === 'gone' || this.#status === 'let go') return
    await this.#starting?.catch(() => undefined)
    // Whoever comes after us runs things of its own, and they are not ours to end.
    if (this.#turn !== undefined && !this.#turn.held() && this.#isThere()) throw this.#notHeld()
    if (this.#status === 'running') this.#status = 'stopped'
    await this.#endAll()
    if (findLabels(`${this.#options.folder.path}/labels.json`) !== undefined) this.#holder.stop()
  }

  async shutdown(): Promise<void> {
    if (this.#status === 'gone') return
    await this.#starting?.catch(() => undefined)
    if (this.#turn !== undefined && !this.#turn.held() && this.#isThere()) throw this.#notHeld()
    this.#status = 'gone'
    await this.#endAll()
    await this.#options.remove()
    dropProcessTable(this.#options.folder.marker)
    this.#turn?.leave()
  }

  async pause(): Promise<void> {
    throw unsupported('pause', 'a sandbox of plain processes cannot be paused as a whole; freeze it')
  }

  async unpause(): Promise<void> {
    throw unsupported('pause', 'a sandbox of plain processes cannot be paused as a whole; freeze it')
  }

  async endpoint(port: number): Promise<PortEndpoint> {
    this.#assertHeld()
    const endpoint = await openEndpoint(port)
    this.#endpoints.add(endpoint)
    return endpoint
  }

  async snapshotNative(): Promise<NativeSnapshotRef> {
    throw unsupported('nativeSnapshot', 'it has no snapshots of its own')
  }

  async usage(): Promise<ResourceUsage> {
    this.#assertThere()
    return measureUsage(findFamily(this.#family).pids)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#status === 'gone' || this.#status === 'let go') return
    await this.#starting?.catch(() => undefined)
    this.#status = 'let go'
    await this.#closeEndpoints()
    for (const process of this.#processes.all) if (this.#nonces.has(nonceOf(process.id))) process.letGo()
    leaveProcessTable(this.#options.folder.marker)
    this.#turn?.leave()
  }

  async #start({ fence, signal }: StartOptions): Promise<void> {
    const { turn, evicted } = this.#holder.take(fence)
    try {
      for (const nonce of evicted) await killFamily({ leaders: [], marker: this.#sandboxMarker(nonce) })
      this.#holder.forgetEvicted(evicted)
      assertNotAborted(signal, 'start')
    } catch (error) {
      turn.leave()
      throw error
    }
    this.#turn?.leave()
    this.#turn = turn
    for (const process of this.#processes.all) process.takeUp()
    this.#status = 'running'
  }

  async #spawn(request: SpawnRequest): Promise<LocalProcess> {
    const turn = this.#turn as Turn
    const startedAtMs = this.#options.nowMs()
    const { background = false, keepOnPark = false, operationId } = request
    this.#nonces.add(turn.nonce)
    const id = `${turn.nonce}-${++this.#spawned}`
    const marker = formatProcessMarker({ id, operationId, background, keepOnPark, startedAtMs })
    const plan = planSpawn(request, {
      environments: [this.#baseEnvironment(), this.#options.environment],
      markers: { [SANDBOX_VARIABLE]: this.#sandboxMarker(turn.nonce), [PROCESS_VARIABLE]: marker },
    })
    const child = await this.#startIn(request, plan)
    const process = new LocalProcess({
      id,
      request,
      child,
      marker,
      startedAtMs,
      onEnd: () => this.#processes.trim(this.#options.keepEnded),
    })
    this.#processes.add(process)
    // Somebody may have taken over between the check and the fork.
    if (turn.held()) return process
    await process.kill()
    throw this.#notHeld()
  }

  async #startIn(request: SpawnRequest, plan: SpawnPlan): Promise<Child> {
    const directory = request.cwd === undefined ? undefined : this.#openCwd(request.cwd)
    try {
      const cwd = directory?.self ?? this.#options.folder.workspace
      const start = this.#options.startTerminal
      if (request.tty === undefined) return await startChild({ ...plan, cwd, stdin: request.stdin ?? 'closed' })
      if (start === undefined) throw unsupported('tty', 'the optional package @lydell/node-pty does not load here')
      return start({ ...plan, cwd: directory?.real ?? cwd, size: request.tty })
    } catch (error) {
      throw isSandboxError(error) ? error : mapSpawnError(error, programOf(request))
    } finally {
      directory?.close()
    }
  }

  #openCwd(cwd: string): HostDirectory {
    try {
      return this.#openDirectory(cwd)
    } catch (error) {
      if (!isSandboxError(error, 'not_found') && !isSandboxError(error, 'not_a_directory')) throw error
      const reason = `its directory ${cwd} is not there`
      throw new SandboxError(
        'exec_not_started',
        `The command was not started: ${reason}.`,
        { reason },
        { backend: 'local', cause: error },
      )
    }
  }

  #baseEnvironment(): Readonly<Record<string, string>> {
    const { folder, path } = this.#options
    return { PATH: path, HOME: folder.workspace, LANG: 'C.UTF-8', TMPDIR: folder.tmp }
  }

  get #family(): Family {
    const leaders = this.#processes.all.flatMap((process) => process.family.leaders)
    return { leaders, marker: `${SANDBOX_VARIABLE}=${this.#options.folder.marker}:` }
  }

  #sandboxMarker(nonce: string): string {
    return `${this.#options.folder.marker}:${nonce}`
  }

  #adopted(): AdoptedProcess[] {
    return findAdopted(this.#family, (id) => this.#processes.find(id) !== undefined)
  }

  async #endAll(): Promise<void> {
    await this.#closeEndpoints()
    await killFamily(this.#family)
    for (const process of this.#processes.all) if (!process.hasEnded) await process.kill()
  }

  async #closeEndpoints(): Promise<void> {
    for (const endpoint of this.#endpoints) await endpoint[Symbol.asyncDispose]()
    this.#endpoints.clear()
  }

  #isThere(): boolean {
    return findLabels(`${this.#options.folder.path}/labels.json`) !== undefined
  }

  #assertThere(): void {
    if (this.#status === 'gone') throw goneError(this.id)
    const turn = this.#turn
    if (this.#status !== 'running' || turn === undefined) throw this.#notRunning()
    if (!turn.held() && !this.#isThere()) throw goneError(this.id)
  }

  #assertHeld(): void {
    if (this.#status === 'gone') throw goneError(this.id)
    const turn = this.#turn
    if (this.#status !== 'running' || turn === undefined) throw this.#notRunning()
    if (!turn.held()) throw this.#notHeld()
  }

  #notHeld(): SandboxError {
    return this.#isThere() ? this.#holder.lost() : goneError(this.id)
  }

  #notRunning(): SandboxError {
    const status = this.#status
    const message = `Sandbox ${this.id} is ${status}; start it first.`
    return new SandboxError('not_running', message, { status }, { backend: 'local' })
  }
}

/** Ids are `<nonce of the turn>-<number>`. */
function nonceOf(processId: string): string {
  return processId.slice(0, processId.indexOf('-'))
}

function unsupported(feature: string, reason: string): SandboxError {
  return new SandboxError(
    'unsupported_feature',
    `The local backend cannot do this: ${reason}.`,
    { feature, reason },
    { backend: 'local' },
  )
}
