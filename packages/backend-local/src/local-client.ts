import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { assertNotAborted, isSandboxError, SandboxError } from '@cofferdam/core/plugin'
import type {
  BackendFeatures,
  ClientCallOptions,
  Clock,
  CreateSandbox,
  IdentityFilter,
  Logger,
  ResumeOptions,
  SandboxClient,
  SandboxPresence,
  SandboxSummary,
} from '@cofferdam/core/plugin'
import type { ZodType } from 'zod'
import { goneError, HolderFolder } from './holder.js'
import { markerOf } from './labels.js'
import type { Labels } from './labels.js'
import { describeFeatures } from './local-features.js'
import { LocalSandbox } from './local-sandbox.js'
import { localStateSchema } from './local-state.js'
import type { LocalState } from './local-state.js'
import { mapFolderError } from './map-error.js'
import { checkOptions } from './options.js'
import type { CheckedOptions, LocalBackendOptions } from './options.js'
import { killFamily } from './process/kill-family.js'
import { SANDBOX_VARIABLE } from './process/process-marker.js'
import { loadTerminals } from './pty/load-pty.js'
import type { TerminalStarter } from './pty/load-pty.js'
import { SandboxFolders } from './sandbox-folder.js'
import type { SandboxFolder } from './sandbox-folder.js'
import { refuseUnsupported } from './sandbox-plan.js'

/** What a client needs of the host that it lives in. */
export interface LocalServices {
  readonly logger: Logger
  readonly clock: Clock
  /** Where relative folders begin. */
  readonly baseDir: string
  /** Says that commands are not isolated; called once. */
  readonly announceWeakness: (reason: string) => void
}

const WEAKNESS =
  'commands run as plain processes of this machine with the rights of this user: nothing keeps them from its files, ' +
  'network or other processes. Use it only for commands that you would run yourself.'

/** Opens the folder of all sandboxes. Throws `invalid_config`, `backend_unavailable`. */
export async function createLocalClient(
  options: LocalBackendOptions,
  services: LocalServices,
): Promise<SandboxClient<LocalState>> {
  const checked = checkOptions(options)
  const root = resolve(services.baseDir, checked.root)
  try {
    mkdirSync(root, { recursive: true, mode: 0o700 })
    const folders = new SandboxFolders(root)
    const terminals = await loadTerminals()
    const startTerminal = typeof terminals === 'function' ? terminals : undefined
    if (typeof terminals !== 'function') services.logger.info(terminals.reason)
    const features = describeFeatures({ tty: startTerminal !== undefined, root })
    return new LocalClient({ checked, services, root, folders, features, startTerminal })
  } catch (error) {
    throw mapFolderError(error, root)
  }
}

interface LocalClientParts {
  readonly checked: CheckedOptions
  readonly services: LocalServices
  readonly root: string
  readonly folders: SandboxFolders
  readonly features: BackendFeatures
  readonly startTerminal: TerminalStarter | undefined
}

class LocalClient implements SandboxClient<LocalState> {
  readonly backendId = 'local'
  readonly features: BackendFeatures
  readonly stateSchema: ZodType<LocalState> = localStateSchema
  readonly #parts: LocalClientParts
  #announced = false

  constructor(parts: LocalClientParts) {
    this.#parts = parts
    this.features = parts.features
  }

  async create(request: CreateSandbox, options: ClientCallOptions = {}): Promise<LocalSandbox> {
    assertNotAborted(options.signal, 'create')
    assertName(request.name)
    refuseUnsupported(request, this.features)
    this.#announce()
    const folder = this.#do(() => this.#parts.folders.make(request, this.#parts.services.clock.nowMs()))
    if (!isSameOwner(folder.labels, request)) throw foreignName(request)
    return this.#open(folder, request)
  }

  async resume(state: LocalState, request: CreateSandbox, options: ResumeOptions = {}): Promise<LocalSandbox> {
    assertNotAborted(options.signal, 'resume')
    const { id } = this.#parse(state)
    const folder = this.#do(() => this.#parts.folders.find(id))
    // A state is untrusted: it leads to nobody else's sandbox.
    if (folder === undefined || !isSameOwner(folder.labels, request)) throw goneError(id)
    // There is but one plan that can be made, so that only a request for another can differ.
    if (options.plan !== 'any') refuseOtherPlan(request, this.features)
    this.#announce()
    return this.#open(folder, request)
  }

  async probe(state: LocalState, options: ClientCallOptions = {}): Promise<SandboxPresence> {
    assertNotAborted(options.signal, 'probe')
    const folder = this.#do(() => this.#parts.folders.find(this.#parse(state).id))
    return folder === undefined ? 'absent' : presenceOf(folder)
  }

  async delete(state: LocalState, options: ClientCallOptions = {}): Promise<void> {
    assertNotAborted(options.signal, 'delete')
    await this.#remove(this.#parse(state).id)
  }

  async *list(
    filter: IdentityFilter,
    options: ClientCallOptions = {},
  ): AsyncGenerator<SandboxSummary<LocalState>, void, undefined> {
    const { folders } = this.#parts
    for (const id of this.#do(() => folders.list())) {
      assertNotAborted(options.signal, 'list')
      const found = this.#findForList(id)
      if (found === undefined || !matches(found.labels, filter)) continue
      const { folder, labels } = found
      yield {
        id,
        name: labels.name,
        identity: labels.identity,
        state: { version: 1, id },
        presence: folder === undefined ? 'stopped' : presenceOf(folder),
        createdAtMs: labels.createdAtMs,
      }
    }
  }

  /** One that was tampered with is said aloud and passed over, so that it hides no other. */
  #findForList(id: string): { readonly folder: SandboxFolder | undefined; readonly labels: Labels } | undefined {
    const { folders, services } = this.#parts
    try {
      const folder = this.#do(() => folders.find(id))
      const labels = folder?.labels ?? this.#do(() => folders.findGone(id))
      return labels && { folder, labels }
    } catch (error) {
      if (!isSandboxError(error, 'state_corrupt')) throw error
      services.logger.warn(error.message, { backend: 'local' })
      return undefined
    }
  }

  /** Nothing is open that does not belong to a sandbox. */
  async [Symbol.asyncDispose](): Promise<void> {}

  #open(folder: SandboxFolder, request: CreateSandbox): LocalSandbox {
    const { checked, services, startTerminal } = this.#parts
    return new LocalSandbox({
      folder,
      features: this.features,
      environment: request.environment,
      path: checked.path,
      keepEnded: checked.keepEnded,
      startTerminal,
      nowMs: () => services.clock.nowMs(),
      remove: () => this.#remove(folder.id),
    })
  }

  async #remove(id: string): Promise<void> {
    const { folders } = this.#parts
    try {
      const labels = folders.find(id)?.labels ?? folders.findGone(id)
      if (labels !== undefined)
        await killFamily({ leaders: [], marker: `${SANDBOX_VARIABLE}=${markerOf(id, labels)}:` })
      await folders.remove(id)
      // Started between the look and the removal: their holder could not know yet.
      if (labels !== undefined)
        await killFamily({ leaders: [], marker: `${SANDBOX_VARIABLE}=${markerOf(id, labels)}:` })
    } catch (error) {
      throw mapFolderError(error, this.#parts.root)
    }
  }

  #announce(): void {
    if (this.#announced) return
    this.#announced = true
    this.#parts.services.announceWeakness(WEAKNESS)
  }

  #parse(state: LocalState): LocalState {
    const parsed = localStateSchema.safeParse(state)
    if (parsed.success) return parsed.data
    const reason = 'it is no state of the local backend'
    throw new SandboxError(
      'invalid_argument',
      `The state cannot be used: ${reason}.`,
      { argument: 'state', reason },
      { backend: 'local' },
    )
  }

  #do<T>(act: () => T): T {
    try {
      return act()
    } catch (error) {
      throw mapFolderError(error, this.#parts.root)
    }
  }
}

function presenceOf(folder: SandboxFolder): SandboxPresence {
  return new HolderFolder(folder.holder, folder.id).isRunning() ? 'running' : 'stopped'
}

function matches({ identity }: Labels, filter: IdentityFilter): boolean {
  if (identity.deployment !== filter.deployment) return false
  if (filter.slotHash !== undefined && identity.slotHash !== filter.slotHash) return false
  return filter.sessionId === undefined || identity.sessionId === filter.sessionId
}

function isSameOwner({ identity }: Labels, request: CreateSandbox): boolean {
  return identity.deployment === request.identity.deployment && identity.slotHash === request.identity.slotHash
}

function refuseOtherPlan(request: CreateSandbox, features: BackendFeatures): void {
  try {
    refuseUnsupported(request, features)
  } catch (error) {
    if (!(error instanceof SandboxError) || error.code !== 'unsupported_feature') throw error
    const { feature } = (error as SandboxError<'unsupported_feature'>).details
    const message = `The sandbox was made without ${feature}, which is asked for now.`
    throw new SandboxError('plan_changed', message, { changed: [feature] }, { backend: 'local', cause: error })
  }
}

const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/

function assertName(name: string): void {
  if (NAME.test(name)) return
  const reason = 'it must be 1 to 63 lower-case letters, digits and hyphens, and not begin with a hyphen'
  throw new SandboxError(
    'invalid_argument',
    `The name of a sandbox cannot be used: ${reason}.`,
    { argument: 'name', reason },
    { backend: 'local' },
  )
}

function foreignName(request: CreateSandbox): SandboxError {
  const message = `The name ${request.name} is taken by a sandbox of another slot of this deployment.`
  return new SandboxError('already_exists', message, { path: request.name }, { backend: 'local' })
}
