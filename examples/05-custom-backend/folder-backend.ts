/**
 * A backend of one's own: sandboxes are folders, commands are child processes in them. It confines nothing, it is for
 * Linux, and it is small enough to be read in ten minutes. `main.test.ts` runs the shared suite against it.
 */
import { mkdir, readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { assertNotAborted, BASE_DIR, definePlugin, EMIT, parseOptions, SandboxError } from '@cofferdam/core/plugin'
import type {
  ClientCallOptions,
  CofferdamPlugin,
  CreateSandbox,
  IdentityFilter,
  ResumeOptions,
  SandboxClient,
  SandboxIdentity,
  SandboxPresence,
  SandboxSummary,
} from '@cofferdam/core/plugin'
import { z } from 'zod'
import { assertPossible, FEATURES } from './features.js'
import { findLabel, labelledAtMs, writeLabel } from './folder-label.js'
import { FolderSandbox } from './folder-sandbox.js'
import type { FolderLife, FolderState } from './folder-sandbox.js'
import { removeFolder } from './marked-processes.js'

const PLUGIN = 'example-folder-backend'
const optionsSchema = z.strictObject({ folder: z.string().min(1) })

export interface FolderBackendOptions {
  /** Where the sandboxes lie: absolute, or relative to the host's `baseDir`. Made when it is missing. */
  readonly folder: string
}

export function folderBackend(options: FolderBackendOptions): CofferdamPlugin {
  return definePlugin({
    name: PLUGIN,
    register(registry) {
      const { folder } = parseOptions(optionsSchema, options, { plugin: PLUGIN })
      registry.backend('folder', (services) => {
        // A backend that confines nothing says so, without being asked.
        services.get(EMIT)({ type: 'isolation.weak', backend: 'folder', reason: 'they are processes of this account' })
        return createFolderClient(resolve(services.get(BASE_DIR), folder))
      })
    },
  })
}

/** `folder` is absolute. */
export function createFolderClient(folder: string): SandboxClient<FolderState> {
  return new FolderClient(folder)
}

class FolderClient implements SandboxClient<FolderState> {
  readonly backendId = 'folder'
  readonly features = FEATURES
  readonly stateSchema = z.strictObject({ name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/) })
  readonly #root: string
  readonly #lives = new Map<string, FolderLife>()

  constructor(root: string) {
    this.#root = root
  }

  async create(request: CreateSandbox, { signal }: ClientCallOptions = {}): Promise<FolderSandbox> {
    assertNotAborted(signal, 'create')
    assertPossible(request)
    const folder = this.#folderOf(request)
    await mkdir(join(folder, 'workspace'), { recursive: true })
    await mkdir(join(folder, 'control'), { recursive: true, mode: 0o700 })
    await writeLabel(folder, request)
    return this.#open(request)
  }

  async resume(state: FolderState, request: CreateSandbox, options: ResumeOptions = {}): Promise<FolderSandbox> {
    assertNotAborted(options.signal, 'resume')
    const label = await findLabel(this.#folderOf(state))
    // A state is untrusted: what belongs to another slot is not there for this one.
    if (label === undefined || label.identity.slotHash !== request.identity.slotHash) {
      throw new SandboxError('sandbox_gone', `there is no sandbox ${state.name}`, { sandbox: state.name })
    }
    if (options.plan !== 'any' && label.workspaceRoot !== request.workspaceRoot) {
      const changed = ['workspaceRoot']
      throw new SandboxError('plan_changed', `${state.name} was made with another workspace root`, { changed })
    }
    assertPossible(request)
    return this.#open({ ...request, name: state.name })
  }

  async probe(state: FolderState): Promise<SandboxPresence> {
    if ((await findLabel(this.#folderOf(state))) === undefined) return 'absent'
    return this.#lives.get(state.name)?.running === true ? 'running' : 'stopped'
  }

  async delete(state: FolderState): Promise<void> {
    await removeFolder(this.#folderOf(state), state.name)
    this.#lives.delete(state.name)
  }

  async *list(filter: IdentityFilter): AsyncIterable<SandboxSummary<FolderState>> {
    await mkdir(this.#root, { recursive: true })
    for (const name of await readdir(this.#root)) {
      const folder = this.#folderOf({ name })
      const label = await findLabel(folder)
      if (label === undefined || !matches(label.identity, filter)) continue
      const createdAtMs = await labelledAtMs(folder)
      const presence = await this.probe({ name })
      yield { id: name, name, identity: label.identity, state: { name }, presence, createdAtMs }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #folderOf({ name }: { readonly name: string }): string {
    return join(this.#root, name)
  }

  #open(request: CreateSandbox): FolderSandbox {
    const life = this.#lives.get(request.name) ?? { running: false, processes: new Map() }
    this.#lives.set(request.name, life)
    return new FolderSandbox({ folder: this.#folderOf(request), request, life })
  }
}

function matches(identity: SandboxIdentity, filter: IdentityFilter): boolean {
  const names = ['deployment', 'slotHash', 'sessionId'] as const
  return names.every((name) => filter[name] === undefined || filter[name] === identity[name])
}
