import type { ByteSource, DirEntry, FileStat, SandboxFiles, WriteOptions } from '../contracts/files.js'
import type {
  GlobOptions,
  GlobResult,
  GrepOptions,
  GrepResult,
  ReadFileOptions,
  SessionFiles,
  TextEdit,
} from '../contracts/session.js'
import { assertNotAborted } from '../errors/assert-not-aborted.js'
import { isSandboxError, SandboxError } from '../errors/sandbox-error.js'
import { compileGlob } from '../match/glob-pattern.js'
import { findMount, isInside, parseWorkspacePath } from '../path/workspace-path.js'
import type { PathScope, WorkspacePath } from '../path/workspace-path.js'
import { filterYielding } from './filter-yielding.js'
import { findFiles } from './find-files.js'
import { grepFiles } from './grep-files.js'
import { applyTextEdit } from './text-edit.js'

const DEFAULT_MAX_READ_BYTES = 64 * 1024 * 1024
const DEFAULT_GLOB_LIMIT = 1_000

export interface SessionFilesContext {
  readonly files: SandboxFiles
  readonly scope: PathScope
  /** Absolute paths that no method reaches: the control folder. */
  readonly hidden: readonly string[]
  /** Throws when the session may not be used. */
  readonly assertUsable: () => void
  /** Masks secrets in what is shown in part. */
  readonly redact: (text: string) => string
}

/** The files of a session: paths are parsed here, once, and only then reach the sandbox. */
export function createSessionFiles(context: SessionFilesContext): SessionFiles {
  return new ScopedFiles(context)
}

class ScopedFiles implements SessionFiles {
  readonly #context: SessionFilesContext
  readonly #files: SandboxFiles
  #lastEdit: Promise<unknown> = Promise.resolve()

  constructor(context: SessionFilesContext) {
    this.#context = context
    this.#files = context.files
  }

  async read(path: string, options: ReadFileOptions = {}): Promise<Uint8Array> {
    const source = this.#parse(path)
    assertNotAborted(options.signal, 'files.read')
    const maxBytes = options.maxBytes ?? DEFAULT_MAX_READ_BYTES
    assertCount('maxBytes', maxBytes)
    const chunks: Uint8Array[] = []
    let sizeBytes = 0
    // Counted while reading: what stat says may have changed by then.
    for await (const chunk of await this.#files.read(source)) {
      assertNotAborted(options.signal, 'files.read')
      sizeBytes += chunk.length
      if (sizeBytes > maxBytes) throw tooLarge(path, maxBytes)
      chunks.push(chunk)
    }
    const [only] = chunks
    return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks)
  }

  async readText(path: string, options: ReadFileOptions = {}): Promise<string> {
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(await this.read(path, options))
  }

  async readStream(
    path: string,
    options: { readonly offset?: number; readonly length?: number } = {},
  ): Promise<ReadableStream<Uint8Array>> {
    for (const name of ['offset', 'length'] as const) assertCount(name, options[name] ?? 0)
    return this.#files.read(this.#parse(path), options)
  }

  async write(path: string, data: string | ByteSource, options: WriteOptions = {}): Promise<void> {
    const target = this.#parseForWrite(path)
    const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data
    if (bytes instanceof Uint8Array) return this.#withParents(target, () => this.#files.write(target, bytes, options))
    // A stream can be read only once, so its parents are made before.
    await this.#files.mkdir(parentOf(target), { recursive: true })
    return this.#files.write(target, bytes, options)
  }

  async append(path: string, data: string | Uint8Array): Promise<void> {
    await this.write(path, data, { append: true })
  }

  /** One after the other: each sees what the one before it wrote. */
  edit(path: string, edit: TextEdit): Promise<{ readonly replacements: number }> {
    const turn = this.#lastEdit.then(() => this.#edit(path, edit))
    this.#lastEdit = turn.catch(() => undefined)
    return turn
  }

  async #edit(path: string, edit: TextEdit): Promise<{ readonly replacements: number }> {
    const target = this.#parseForWrite(path)
    const bytes = await this.read(path)
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    let text: string
    try {
      text = decoder.decode(bytes)
    } catch (error) {
      const reason = `${path} is not UTF-8 text; replace it as a whole with write`
      throw new SandboxError('invalid_argument', `edit: ${reason}`, { argument: 'path', reason }, { cause: error })
    }
    const { content, replacements } = applyTextEdit(text, edit)
    await this.#files.write(target, new TextEncoder().encode(content))
    return { replacements }
  }

  async list(path?: string): Promise<readonly DirEntry[]> {
    const folder = this.#parse(path ?? this.#context.scope.workspaceRoot)
    const entries: DirEntry[] = []
    for await (const entry of this.#files.list(folder)) {
      if (!this.#isHidden(`${folder}/${entry.name}`)) entries.push(entry)
    }
    return entries
  }

  async stat(path: string): Promise<FileStat | undefined> {
    return this.#files.stat(this.#parse(path))
  }

  async exists(path: string): Promise<boolean> {
    return (await this.stat(path)) !== undefined
  }

  async mkdir(path: string, options: { readonly recursive?: boolean; readonly mode?: number } = {}): Promise<void> {
    await this.#files.mkdir(this.#parseForWrite(path), options)
  }

  async remove(path: string, options: { readonly recursive?: boolean; readonly force?: boolean } = {}): Promise<void> {
    const target = this.#parseForWrite(path)
    this.#assertNoRoot(target)
    const { recursive = false, force = false } = options
    try {
      await this.#files.remove(target, { recursive })
    } catch (error) {
      if (!force || !isSandboxError(error, 'not_found')) throw error
    }
  }

  async rename(from: string, to: string): Promise<void> {
    const source = this.#parseForWrite(from)
    this.#assertNoRoot(source)
    const target = this.#parseForWrite(to)
    this.#assertNoRoot(target)
    await this.#withParents(target, () => this.#files.rename(source, target))
  }

  async glob(pattern: string, options: GlobOptions = {}): Promise<GlobResult> {
    const matches = compileGlob(pattern)
    const limit = options.limit ?? DEFAULT_GLOB_LIMIT
    assertCount('limit', limit)
    const { root, show } = this.#searchRoot(options.cwd)
    const found = await this.#find(root, options)
    const wanted = await filterYielding(found, ({ path }) => matches(path), options.signal).catch((error: unknown) => {
      assertNotAborted(options.signal, 'files.search')
      throw error
    })
    const paths = wanted.map(({ path }) => show(path))
    return { paths: paths.slice(0, limit), truncated: paths.length > limit }
  }

  async grep(pattern: string, options: GrepOptions = {}): Promise<GrepResult> {
    for (const name of ['limit', 'context', 'timeoutMs'] as const) assertCount(name, options[name] ?? 0)
    const { root, show } = this.#searchRoot(options.cwd)
    const candidates = await this.#find(root, options)
    return grepFiles({ files: this.#files, root, candidates, show, pattern, options, redact: this.#context.redact })
  }

  #find(root: string, options: GlobOptions): ReturnType<typeof findFiles> {
    assertNotAborted(options.signal, 'files.search')
    return findFiles({
      files: this.#files,
      root,
      workspaceRoot: this.#context.scope.workspaceRoot,
      mounts: this.#context.scope.mounts.map(({ path }) => path),
      includeIgnored: options.includeIgnored ?? false,
      hidden: this.#context.hidden,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    })
  }

  /** Where a search begins, and how what it finds is shown: relative to the workspace, or absolute in another mount. */
  #searchRoot(cwd: string | undefined): { readonly root: string; readonly show: (path: string) => string } {
    const { workspaceRoot } = this.#context.scope
    const root: string = this.#parse(cwd ?? workspaceRoot)
    if (root === workspaceRoot) return { root, show: (path) => path }
    const prefix = isInside(root, workspaceRoot) ? root.slice(workspaceRoot.length + 1) : root
    return { root, show: (path) => `${prefix}/${path}` }
  }

  #parse(path: string): WorkspacePath {
    this.#context.assertUsable()
    const parsed = parseWorkspacePath(path, this.#context.scope)
    if (this.#isHidden(parsed)) {
      const reason = 'it belongs to the sandbox itself'
      throw new SandboxError('path_denied', `${path}: ${reason}`, { path, reason })
    }
    return parsed
  }

  #parseForWrite(path: string): WorkspacePath {
    const parsed = this.#parse(path)
    if (findMount(parsed, this.#context.scope)?.readOnly === true) {
      throw new SandboxError('read_only', `${path} lies in a mount that is read-only`, { path })
    }
    return parsed
  }

  #isHidden(path: string): boolean {
    return this.#context.hidden.some((hidden) => isInside(path, hidden))
  }

  #assertNoRoot(path: WorkspacePath): void {
    const { workspaceRoot, mounts } = this.#context.scope
    this.#assertNoParent(path)
    if (![workspaceRoot, ...mounts.map((mount) => mount.path)].some((root) => isInside(root, path))) return
    const reason = 'the workspace and its mounts themselves stay; work on what is in them'
    throw new SandboxError('path_denied', `${path}: ${reason}`, { path, reason })
  }

  /** A `..` at the end names a directory by what is in it: it might be the workspace, by way of a link. */
  #assertNoParent(path: WorkspacePath): void {
    if (!path.endsWith('/..')) return
    const reason = 'it ends with ..; name the directory itself'
    throw new SandboxError('invalid_argument', `${path}: ${reason}`, { argument: 'path', reason })
  }

  /** Most parents are there: they are made only when the operation misses them. */
  async #withParents(path: WorkspacePath, operation: () => Promise<void>): Promise<void> {
    try {
      await operation()
    } catch (error) {
      if (!isSandboxError(error, 'not_found')) throw error
      await this.#files.mkdir(parentOf(path), { recursive: true })
      await operation()
    }
  }
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}

function assertCount(argument: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 0) return
  const reason = 'it is a whole number, 0 or more'
  throw new SandboxError('invalid_argument', `${argument}: ${reason}`, { argument, reason })
}

function tooLarge(path: string, maxBytes: number): SandboxError<'quota_exceeded'> {
  return new SandboxError(
    'quota_exceeded',
    `${path} is larger than ${maxBytes} bytes; read it with readStream, or raise maxBytes`,
    { quota: 'maxBytes', limit: maxBytes },
  )
}
