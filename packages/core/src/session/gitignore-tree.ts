import type { SandboxFiles } from '../contracts/files.js'
import { compileIgnoreRules } from '../match/ignore-rules.js'

const MAX_IGNORE_BYTES = 1024 * 1024
const MAX_PATTERNS = 10_000

/** Tells whether a path relative to the base is ignored, itself or by a directory above it. */
export type IgnoreTest = (path: string, isDirectory: boolean) => boolean

/**
 * What the .gitignore files of a tree say together: those further down come later, and so may take back what those above
 * said. Patterns that cannot be used hide nothing: a broken .gitignore must not break a search.
 */
export class GitignoreTree {
  readonly #files: SandboxFiles
  readonly #base: string
  readonly #folders = new Map<string, readonly string[]>()

  /** `base` is the absolute path that everything here is relative to. */
  constructor(files: SandboxFiles, base: string) {
    this.#files = files
    this.#base = base
  }

  knows(folder: string): boolean {
    return this.#folders.has(folder)
  }

  /** Reads the .gitignore of a folder, `''` for the base. True when it takes something back. */
  async read(folder: string): Promise<boolean> {
    const path = folder === '' ? `${this.#base}/.gitignore` : `${this.#base}/${folder}/.gitignore`
    const patterns = (await readLines(this.#files, path)).flatMap((line) => rootedPattern(line, folder) ?? [])
    this.#folders.set(folder, patterns)
    return patterns.some((pattern) => pattern.startsWith('!'))
  }

  /** What the folders above say, and what is said there, goes. */
  forget(folders: readonly string[]): void {
    for (const folder of folders) this.#folders.delete(folder)
  }

  test(): IgnoreTest {
    const depth = (folder: string): number => (folder === '' ? 0 : folder.split('/').length)
    const byDepth = [...this.#folders].sort(([a], [b]) => depth(a) - depth(b))
    return compileIgnoreRules(byDepth.flatMap(([, patterns]) => patterns).slice(0, MAX_PATTERNS))
  }
}

async function readLines(files: SandboxFiles, path: string): Promise<readonly string[]> {
  const stat = await files.stat(path)
  if (stat === undefined || stat.type !== 'file' || stat.sizeBytes > MAX_IGNORE_BYTES) return []
  const text = await new Response(await files.read(path)).text()
  return text.split(/\r?\n/)
}

/** A pattern of a folder's .gitignore as one that means the same relative to the base. Undefined when it says nothing. */
function rootedPattern(line: string, folder: string): string | undefined {
  if (line.trim() === '' || line.startsWith('#') || !isUsable(line)) return undefined
  if (folder === '') return line
  const not = line.startsWith('!') ? '!' : ''
  const pattern = line.slice(not.length).replace(/^\\(?=[!#])/, '')
  const anchored = pattern.slice(0, -1).includes('/')
  const rooted = anchored ? pattern.replace(/^\//, '') : `**/${pattern}`
  return `${not}/${escapePattern(folder)}/${rooted}`
}

function isUsable(line: string): boolean {
  try {
    compileIgnoreRules([line])('a', false)
    return true
  } catch {
    return false
  }
}

function escapePattern(path: string): string {
  return path.replace(/[\\*?[\]]/g, '\\$&')
}
