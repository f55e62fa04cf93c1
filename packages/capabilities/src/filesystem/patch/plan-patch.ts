import { posix } from 'node:path'
import type { SandboxSession, SessionFiles } from '@cofferdam/core'
import { assertNotAborted, isSandboxError } from '@cofferdam/core/plugin'
import type { FileStat } from '@cofferdam/core/plugin'
import { failureOf } from '../../answer.js'
import { applyHunks } from './apply-hunks.js'
import { isProblem } from './patch.js'
import type { AddFile, DeleteFile, PatchSection, UpdateFile } from './patch.js'

const MAX_FILE_BYTES = 16 * 1024 * 1024
const MAX_FILE_LINES = 200_000
/** Each hunk and anchor may be looked for in every line: while that is done nothing else is. */
const MAX_STEPS = 20_000_000

/** One thing to do, with what was there when it was planned. */
export type PlannedChange =
  | {
      readonly kind: 'add'
      readonly path: string
      readonly content: Uint8Array
      readonly newFolders: readonly string[]
    }
  | { readonly kind: 'delete'; readonly path: string; readonly before: Uint8Array; readonly mode: number }
  | { readonly kind: 'update'; readonly path: string; readonly before: Uint8Array; readonly content: Uint8Array }
  | {
      readonly kind: 'move'
      readonly path: string
      readonly to: string
      readonly before: Uint8Array
      readonly content: Uint8Array
      readonly newFolders: readonly string[]
    }

export interface ChangeSummary {
  readonly change: 'added' | 'updated' | 'moved' | 'deleted'
  readonly path: string
  readonly movedTo: string | null
  readonly added: number
  readonly removed: number
}

/** Why one file cannot be changed. */
export interface PlanProblem {
  readonly code: string
  readonly path: string
  /** Line of the patch, from 1. */
  readonly line: number
  readonly problem: string
}

export interface PatchPlan {
  readonly changes: readonly PlannedChange[]
  readonly summary: readonly ChangeSummary[]
  /** When there is one, nothing may be changed. */
  readonly problems: readonly PlanProblem[]
}

export interface PlanContext {
  readonly files: SandboxSession['files']
  /** One name for each path, however it was written. */
  readonly canonical: (path: string) => string
  readonly signal?: AbortSignal
}

interface Step {
  readonly change: PlannedChange
  readonly summary: ChangeSummary
}

/** Computes every change of a patch before any is made. Reads only. */
export async function planPatch(sections: readonly PatchSection[], context: PlanContext): Promise<PatchPlan> {
  const problems = findClashes(sections, context.canonical)
  const steps: Step[] = []
  for (const section of problems.length > 0 ? [] : sections) {
    const step = await planSection(section, context)
    if ('problem' in step) problems.push(step)
    else steps.push(step)
  }
  return { changes: steps.map(({ change }) => change), summary: steps.map(({ summary }) => summary), problems }
}

/** Sections are planned each against what is there now, so no two may be about the same place. */
function findClashes(sections: readonly PatchSection[], canonical: (path: string) => string): PlanProblem[] {
  const named = new Map<string, number>()
  const problems: PlanProblem[] = []
  for (const section of sections) {
    const { path, line } = section
    const target = section.kind === 'update' && section.moveTo !== null ? [section.moveTo] : []
    for (const name of new Set([path, ...target].map(canonical))) {
      const above = named.get(name)
      named.set(name, line)
      if (above === undefined) continue
      const problem = `${name} is named in the section at line ${above} too; say all of it in one section`
      problems.push({ code: 'patch_invalid', path: name, line, problem })
    }
  }
  return problems
}

async function planSection(section: PatchSection, context: PlanContext): Promise<Step | PlanProblem> {
  assertNotAborted(context.signal, 'apply_patch')
  try {
    if (section.kind === 'add') return await planAdd(section, context.files)
    return await (section.kind === 'delete' ? planDelete(section, context.files) : planUpdate(section, context))
  } catch (error) {
    if (!isSandboxError(error) || failureOf(error) === undefined) throw error
    return { code: error.code, path: section.path, line: section.line, problem: error.message }
  }
}

async function planAdd({ path, line, text }: AddFile, files: SessionFiles): Promise<Step | PlanProblem> {
  const place = await findPlace(path, files)
  if ('problem' in place) return { ...place, path, line }
  const content = new TextEncoder().encode(text)
  const added = text.split('\n').length - 1
  return {
    change: { kind: 'add', path, content, newFolders: place.newFolders },
    summary: { change: 'added', path, movedTo: null, added, removed: 0 },
  }
}

async function planDelete({ path, line }: DeleteFile, files: SessionFiles): Promise<Step | PlanProblem> {
  const stat = await files.stat(path)
  const wrong = regularFileProblem(stat, path)
  if (wrong !== undefined) return { ...wrong, path, line }
  const before = await files.read(path)
  return {
    change: { kind: 'delete', path, before, mode: stat?.mode ?? 0o644 },
    summary: { change: 'deleted', path, movedTo: null, added: 0, removed: countLines(before) },
  }
}

async function planUpdate(section: UpdateFile, context: PlanContext): Promise<Step | PlanProblem> {
  const { path, line, hunks } = section
  const { files, canonical } = context
  const before = await files.read(path, { maxBytes: MAX_FILE_BYTES })
  const text = decodeStrictly(before)
  if (text === undefined) return { code: 'binary_file', path, line, problem: `${path} is not UTF-8 text` }
  const lineCount = countLines(before)
  const searches = hunks.reduce((count, { anchors }) => count + 1 + anchors.length, 0)
  if (searches * lineCount > MAX_STEPS) {
    const problem = `there are too many hunks for the ${lineCount} lines of ${path}; make several patches of it`
    return { code: 'patch_conflict', path, line, problem }
  }
  if (lineCount > MAX_FILE_LINES) {
    const problem = `${path} has more than ${MAX_FILE_LINES} lines; edit it with a command`
    return { code: 'patch_conflict', path, line, problem }
  }
  const patched = applyHunks(text, hunks)
  if (isProblem(patched)) return { code: 'patch_conflict', path, ...patched }
  const content = new TextEncoder().encode(patched.text)
  const { added, removed } = patched
  const movedTo = section.moveTo !== null && canonical(section.moveTo) !== canonical(path) ? section.moveTo : null
  if (movedTo === null) {
    const summary = { change: 'updated', path, movedTo, added, removed } as const
    return { change: { kind: 'update', path, before, content }, summary }
  }
  const wrong = regularFileProblem(await files.stat(path), path)
  if (wrong !== undefined) return { ...wrong, path, line }
  const place = await findPlace(movedTo, files)
  if ('problem' in place) return { ...place, path: movedTo, line }
  return {
    change: { kind: 'move', path, to: movedTo, before, content, newFolders: place.newFolders },
    summary: { change: 'moved', path, movedTo, added, removed },
  }
}

type Obstacle = Pick<PlanProblem, 'code' | 'problem'>

/** Checks that a file can be made at `path`, and which folders have to be made for it, the outermost first. */
async function findPlace(
  path: string,
  files: SessionFiles,
): Promise<{ readonly newFolders: readonly string[] } | Obstacle> {
  if ((await files.stat(path)) !== undefined) {
    return { code: 'already_exists', problem: `${path} exists already; update it, or delete it first` }
  }
  const newFolders: string[] = []
  for (let folder = posix.dirname(path); folder !== '.' && folder !== '/'; folder = posix.dirname(folder)) {
    const stat = await files.stat(folder).catch((error: unknown) => {
      // The parent of the folder is a file: the next round says so.
      if (isSandboxError(error, 'not_a_directory')) return undefined
      throw error
    })
    if (stat === undefined) newFolders.unshift(folder)
    else if (stat.type === 'directory' || stat.type === 'symlink') break
    else return { code: 'not_a_directory', problem: `${folder} is a file, so ${path} cannot be made` }
  }
  return { newFolders }
}

/** Only what can be put back is deleted or moved. */
function regularFileProblem(stat: FileStat | undefined, path: string): Obstacle | undefined {
  if (stat === undefined) return { code: 'not_found', problem: `${path} does not exist` }
  if (stat.type === 'directory') return { code: 'is_a_directory', problem: `${path} is a directory` }
  if (stat.type !== 'file') return { code: 'path_denied', problem: `${path} is no plain file (${stat.type})` }
  return undefined
}

function decodeStrictly(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function countLines(bytes: Uint8Array): number {
  let count = bytes.length > 0 && bytes.at(-1) !== 0x0a ? 1 : 0
  for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, at + 1)) count++
  return count
}
