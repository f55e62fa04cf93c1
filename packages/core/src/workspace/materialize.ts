import { randomUUID } from 'node:crypto'
import type { FileToWrite } from '../contracts/files.js'
import type { SandboxEventBody } from '../contracts/observer.js'
import { assertNotAborted } from '../errors/assert-not-aborted.js'
import { isSandboxError, SandboxError } from '../errors/sandbox-error.js'
import type { Manifest } from '../manifest/manifest.js'
import { caseFoldCollisions, mountPaths } from '../manifest/manifest-paths.js'
import { giveAway, makeAccounts } from './accounts.js'
import { applyGitRepo } from './entries/git-repo.js'
import type { Filling, WorkspaceSandbox } from './filling.js'
import type { HostAccess } from './host-access.js'
import { openHostSources } from './host-source.js'
import type { HostSources } from './host-source.js'
import { makeWay } from './make-way.js'
import { planMaterialization, whenFresh } from './materialize-plan.js'
import type { MaterializeSelect, MaterializeStep, UnsupportedEntry } from './materialize-plan.js'
import { Rollback } from './rollback.js'
import { sourceOf } from './source-of.js'
import { WorkspaceView } from './workspace-view.js'

export interface MaterializeRequest {
  readonly sandbox: WorkspaceSandbox
  readonly manifest: Manifest
  readonly select: MaterializeSelect
  readonly hostAccess: HostAccess
  /** Values of secrets by name; what they are is kept from every message. */
  readonly secrets: (ref: string) => Promise<string>
  readonly emit: (event: SandboxEventBody) => void
  readonly signal?: AbortSignal
}

/**
 * Puts the entries of a manifest into the workspace, in the order of the plan, with their exact modes. Emits
 * `entry.applied` for each that was put there and `entry.skipped` for each that could not be.
 *
 * When anything fails, what this call has put there is removed and what it replaced is back; the error comes out
 * unchanged, or in an `AggregateError` with what could not be undone.
 *
 * @throws `unsupported_feature` before anything is touched; `path_escape`, `not_found`, `not_a_directory`, `no_space`,
 * `exec_failed` (git), `aborted`, and whatever else the sandbox's own operations throw
 */
export async function materialize(request: MaterializeRequest): Promise<void> {
  const { manifest, sandbox, select, emit } = request
  const plan = planMaterialization(manifest, select, sandbox.features)
  assertSupported(plan.unsupported, emit)
  assertNoCaseFolds(manifest, sandbox)
  const accounts = sandbox.features.users && manifest.users.length + manifest.groups.length > 0
  if (plan.steps.length === 0 && !accounts) return
  const stage = `${sandbox.paths.control}/materialize`
  const filling = openFilling(request, stage)
  try {
    await removeStage(sandbox, stage)
    if (accounts) await makeAccounts(manifest, filling)
    await new Application(plan.steps, filling, select !== 'all').run()
  } catch (error) {
    throw await abandon(error, filling, stage)
  }
  await removeStage(sandbox, stage)
}

function openFilling(request: MaterializeRequest, stage: string): Filling {
  const { sandbox, manifest, hostAccess, secrets, emit, signal } = request
  let host: Promise<HostSources> | undefined
  let staged: Promise<void> | undefined
  return {
    sandbox,
    view: new WorkspaceView(sandbox.files, sandbox.paths.workspace),
    rollback: new Rollback(),
    host: () => (host ??= openHostSources(hostAccess)),
    secrets,
    emit,
    staging: async () => {
      await (staged ??= sandbox.files.mkdir(stage, { mode: 0o700 }))
      return `${stage}/${randomUUID()}`
    },
    mounts: mountPaths(manifest),
    ...(signal === undefined ? {} : { signal }),
  }
}

async function abandon(error: unknown, filling: Filling, stage: string): Promise<unknown> {
  const outcome = await filling.rollback.run(error)
  // While something could not be put back, the stage may hold the only copy of it.
  if (outcome !== error) return outcome
  try {
    await removeStage(filling.sandbox, stage)
  } catch (failure) {
    return new AggregateError([error, failure], 'The workspace could not be filled, and what was done not all undone.')
  }
  return error
}

async function removeStage(sandbox: WorkspaceSandbox, stage: string): Promise<void> {
  await sandbox.files.remove(stage, { recursive: true }).catch((error: unknown) => {
    if (!isSandboxError(error, 'not_found')) throw error
  })
}

function assertSupported(unsupported: readonly UnsupportedEntry[], emit: MaterializeRequest['emit']): void {
  for (const { path, feature, reason, ifUnsupported } of unsupported) {
    if (ifUnsupported === 'skip') continue
    const message = `${path}: ${reason}, or say ifUnsupported: 'skip'.`
    throw new SandboxError('unsupported_feature', message, { feature, reason })
  }
  for (const { path, kind, reason } of unsupported) emit({ type: 'entry.skipped', path, kind, reason })
}

function assertNoCaseFolds(manifest: Manifest, { features }: WorkspaceSandbox): void {
  const collisions = features.foldsCase ? caseFoldCollisions(manifest) : []
  if (collisions.length === 0) return
  const problems = collisions.map(
    (paths) => `entries.${paths[0]}: is the same file as ${paths.slice(1).join(', ')} here`,
  )
  throw new SandboxError('invalid_manifest', `Names are not told apart by case:\n  ${problems.join('\n  ')}`, {
    problems,
  })
}

/** A step that will be done, and what has to be made for it first. */
interface Ready {
  readonly step: MaterializeStep
  /** The directory is there and stays. */
  readonly merge: boolean
  /** Directories above it that no entry names. */
  readonly parents: readonly string[]
}

/** One run over the steps: as many as possible go in one stream. */
class Application {
  readonly #steps: readonly MaterializeStep[]
  readonly #filling: Filling
  /** Entries that were made in this run. */
  readonly #made: Set<string> = new Set()
  /** The workspace has been worked in: what is in the way there is somebody's doing, and no reason never to start again. */
  readonly #tolerant: boolean
  #batch: Ready[] = []
  #done = 0

  constructor(steps: readonly MaterializeStep[], filling: Filling, tolerant: boolean) {
    this.#tolerant = tolerant
    this.#steps = steps
    this.#filling = filling
  }

  async run(): Promise<void> {
    for (const step of this.#steps) {
      assertNotAborted(this.#filling.signal, 'materialize')
      if (step.within.some((path) => this.#batch.some((ready) => ready.step.path === path))) await this.#flush()
      const ready = await this.#prepare(step)
      if (ready === undefined) continue
      this.#made.add(step.path)
      this.#batch.push(ready)
      const { entry } = step
      if (entry.kind === 'git_repo' || (entry.owner ?? entry.group) !== undefined) await this.#flush()
    }
    await this.#flush()
  }

  /** Makes room for an entry; `undefined` when it stays as it is. */
  async #prepare(step: MaterializeStep): Promise<Ready | undefined> {
    const { path, entry } = step
    const { view, emit } = this.#filling
    const fresh = step.within.some((above) => this.#made.has(above))
    const when = fresh ? whenFresh(entry) : step.whenPresent
    try {
      const present = await view.typeOf(path)
      if (present !== undefined && when === 'keep') return this.#leave()
      const parents = await view.missingParents(path)
      const merge = present === 'directory' && when === 'merge'
      if (merge) await this.#rememberMode(path)
      else await this.#claim(path, parents, entry.kind)
      return { step, merge, parents }
    } catch (error) {
      if (!isSandboxError(error, 'not_a_directory') || !this.#tolerant || fresh) throw error
      emit({ type: 'entry.skipped', path, kind: entry.kind, reason: error.message })
      return this.#leave()
    }
  }

  #leave(): undefined {
    this.#done++
    return undefined
  }

  async #claim(path: string, parents: readonly string[], kind: string): Promise<void> {
    const { view } = this.#filling
    await makeWay(parents[0] ?? path, this.#filling)
    for (const parent of parents) view.put(parent, 'directory')
    view.put(path, kind === 'file' || kind === 'local_file' ? 'file' : kind === 'symlink' ? 'symlink' : 'directory')
  }

  async #rememberMode(path: string): Promise<void> {
    const { view, rollback, sandbox } = this.#filling
    const place = view.absolute(path)
    const stat = await sandbox.files.stat(place)
    if (stat !== undefined) rollback.add(() => sandbox.files.chmod(place, stat.mode))
  }

  async #flush(): Promise<void> {
    const batch = this.#batch.splice(0)
    if (batch.length === 0) return
    const { sandbox, view, emit, signal } = this.#filling
    await sandbox.files.writeMany(this.#files(batch), sandbox.paths.workspace, signal === undefined ? {} : { signal })
    for (const { step, merge } of batch) {
      const { path, entry } = step
      if (entry.kind === 'git_repo' && !(await this.#clone(step, merge))) continue
      if (entry.kind === 'git_repo' || entry.kind === 'local_dir') view.forget(path)
      await this.#own(step)
      emit({ type: 'entry.applied', path, kind: entry.kind, done: ++this.#done, of: this.#steps.length })
    }
  }

  async *#files(batch: readonly Ready[]): AsyncGenerator<FileToWrite> {
    for (const { step, merge, parents } of batch) {
      for (const path of parents) yield { type: 'directory', path, mode: 0o755 }
      // Not `yield*`, which would wait three times for each file.
      for await (const group of sourceOf(step, { ...this.#filling, merge })) for (const file of group) yield file
    }
  }

  async #clone({ path, entry }: MaterializeStep, merge: boolean): Promise<boolean> {
    if (entry.kind !== 'git_repo') return true
    try {
      await applyGitRepo(path, entry, { ...this.#filling, merge })
      return true
    } catch (error) {
      const lacksGit = isSandboxError(error, 'unsupported_feature') && entry.ifUnsupported === 'skip'
      if (!lacksGit) throw error
      this.#made.delete(path)
      this.#filling.view.remove(path)
      this.#filling.emit({ type: 'entry.skipped', path, kind: entry.kind, reason: error.message })
      this.#leave()
      return false
    }
  }

  async #own({ path, entry }: MaterializeStep): Promise<void> {
    const { owner, group } = entry
    if (owner === undefined && group === undefined) return
    const recursive = entry.kind === 'local_dir' || entry.kind === 'git_repo'
    const to = { recursive, ...(owner === undefined ? {} : { owner }), ...(group === undefined ? {} : { group }) }
    await giveAway(this.#filling.view.absolute(path), to, this.#filling)
  }
}
