import { randomBytes } from 'node:crypto'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { removeHostTree } from '@cofferdam/core/host-files'
import type { CreateSandbox } from '@cofferdam/core/plugin'
import { corruptFolder, findLabels, makeLabels, markerOf } from './labels.js'
import type { Labels } from './labels.js'
import { isSandboxId, sandboxId } from './local-state.js'
import { errnoOf } from './map-error.js'

/**
 * Where a sandbox lies:
 *
 * ```
 * <root>/sandboxes/<id>/labels.json    who it belongs to; its last part to be made
 *                      /workspace      what belongs to the session
 *                      /control        core's own, hidden from tools
 *                      /tmp            TMPDIR of its commands
 *                      /holder         whose turn it is
 *        sandboxes/.new-…              being made, by which process
 *        sandboxes/.gone-<id>-…        being removed
 * ```
 */
export interface SandboxFolder {
  readonly id: string
  readonly path: string
  readonly workspace: string
  readonly control: string
  readonly tmp: string
  readonly holder: string
  readonly labels: Labels
  /** In the environment of every process of it. */
  readonly marker: string
}

const GONE = /^\.gone-(.+)-[0-9a-f]{12}$/
const DRAFT = /^\.new-(\w+)-(\d+)-/
const DRAFT_MS = 3_600_000
const FOLDERS = ['workspace', 'control', 'tmp', 'holder'] as const

/** All sandboxes beneath one root. */
export class SandboxFolders {
  /** Real path. */
  readonly #home: string

  constructor(root: string) {
    this.#home = join(root, 'sandboxes')
    mkdirSync(this.#home, { recursive: true, mode: 0o700 })
    this.#home = realpathSync(this.#home)
    this.#sweepDrafts()
  }

  /** The one of that name, made when it is not there: under another name first, so that it is there as a whole or not. */
  make(request: CreateSandbox, nowMs: number): SandboxFolder {
    const id = sandboxId(request.name, request.identity)
    const there = this.find(id)
    if (there !== undefined) return there
    const draft = mkdtempSync(join(this.#home, `.new-${pidNamespace()}-${process.pid}-`))
    const labels = makeLabels(request, { createdAtMs: nowMs, marker: randomBytes(16).toString('hex') })
    try {
      for (const name of FOLDERS) mkdirSync(join(draft, name), { mode: 0o700 })
      writeFileSync(join(draft, 'labels.json'), `${JSON.stringify(labels)}\n`, { mode: 0o600 })
      renameSync(draft, join(this.#home, id))
    } catch (error) {
      this.#scrap(draft)
      const code = errnoOf(error)
      const found = code === 'ENOTEMPTY' || code === 'EEXIST' ? this.find(id) : undefined
      if (found !== undefined) return found
      throw error
    }
    return this.#describe(id, labels)
  }

  find(id: string): SandboxFolder | undefined {
    const path = join(this.#home, id)
    const labels = findLabels(join(path, 'labels.json'))
    if (labels === undefined) return undefined
    // Commands can put a link to anywhere in the place of a folder, and the labels of another sandbox in that of its own.
    if (sandboxId(labels.name, labels.identity) !== id)
      throw corruptFolder(path, 'its labels are those of another sandbox')
    for (const folder of [path, ...FOLDERS.map((name) => join(path, name))]) {
      const stat = lstatSync(folder, { throwIfNoEntry: false })
      if (stat?.isDirectory() !== true) throw corruptFolder(path, `${folder} is no directory of its own`)
    }
    return this.#describe(id, labels)
  }

  /** Ids of all that is there, also of what was not removed to the end. */
  list(): string[] {
    const ids = new Set<string>()
    for (const name of readdirSync(this.#home)) {
      const id = GONE.exec(name)?.[1] ?? name
      if (isSandboxId(id)) ids.add(id)
    }
    return [...ids].sort()
  }

  /** Labels of one whose removal was cut off. */
  findGone(id: string): Labels | undefined {
    for (const name of this.#goneOf(id)) {
      const labels = findLabels(join(this.#home, name, 'labels.json'))
      if (labels !== undefined) return labels
    }
    return undefined
  }

  /** Removes it and what earlier removals left of it. Absent is success. No mount is entered, no link followed. */
  async remove(id: string): Promise<void> {
    const gone = `.gone-${id}-${randomBytes(6).toString('hex')}`
    try {
      renameSync(join(this.#home, id), join(this.#home, gone))
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error
    }
    for (const name of this.#goneOf(id)) await this.#empty(name)
  }

  #goneOf(id: string): string[] {
    return readdirSync(this.#home).filter((name) => GONE.exec(name)?.[1] === id)
  }

  /** The labels go last: as long as anything is there, it is known whose it is. */
  async #empty(name: string): Promise<void> {
    await removeHostTree(join(this.#home, name), { last: 'labels.json' })
  }

  /** Drafts of dead processes: known by their pid where it counts in our namespace, else by their age. */
  #sweepDrafts(): void {
    for (const name of readdirSync(this.#home)) {
      if (!name.startsWith('.new-')) continue
      const [, namespace, pid] = DRAFT.exec(name) ?? []
      const dead = namespace === pidNamespace() && !isAlive(Number(pid))
      const stat = lstatSync(join(this.#home, name), { throwIfNoEntry: false })
      if (stat === undefined) continue
      if (dead || Date.now() - stat.mtimeMs > DRAFT_MS) this.#scrap(join(this.#home, name))
    }
  }

  #scrap(draft: string): void {
    rmSync(draft, { recursive: true, force: true })
  }

  #describe(id: string, labels: Labels): SandboxFolder {
    const path = join(this.#home, id)
    const [workspace, control, tmp, holder] = FOLDERS.map((name) => join(path, name)) as [
      string,
      string,
      string,
      string,
    ]
    return { id, path, workspace, control, tmp, holder, labels, marker: markerOf(id, labels) }
  }
}

/** Names the pid namespace of this process, where there are such. */
function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')
  } catch {
    return 'none'
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return errnoOf(error) !== 'ESRCH'
  }
}
