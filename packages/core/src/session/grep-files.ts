import type { SandboxFiles, TreeEntry } from '../contracts/files.js'
import type { GrepMatch, GrepOptions, GrepResult } from '../contracts/session.js'
import { compileGlob } from '../match/glob-pattern.js'
import { createLineMatcher } from './match-lines.js'
import type { LineMatcher } from './match-lines.js'

const MAX_FILE_BYTES = 16 * 1024 * 1024
const MAX_LINE_CHARACTERS = 500
const BINARY_PROBE_BYTES = 8 * 1024
const DEFAULT_TIMEOUT_MS = 10_000
const DEFAULT_LIMIT = 1_000

export interface GrepFilesRequest {
  readonly files: SandboxFiles
  readonly root: string
  /** Relative to `root`, in order. */
  readonly candidates: readonly TreeEntry[]
  /** Makes a path relative to `root` what the caller is shown. */
  readonly show: (path: string) => string
  readonly pattern: string
  readonly options: GrepOptions
}

/** Searches files one after another until there are enough matches. */
export async function grepFiles(request: GrepFilesRequest): Promise<GrepResult> {
  const { candidates, options, pattern, root, files, show } = request
  const matchesGlob = options.glob === undefined ? () => true : compileGlob(options.glob)
  const wanted = candidates.filter(({ path, sizeBytes }) => matchesGlob(path) && sizeBytes <= MAX_FILE_BYTES)
  const limit = options.limit ?? DEFAULT_LIMIT
  const matches: GrepMatch[] = []
  let filesSearched = 0
  let filesSkipped = candidates.filter(({ path, sizeBytes }) => matchesGlob(path) && sizeBytes > MAX_FILE_BYTES).length
  let truncated = false
  const matcher = createLineMatcher({
    pattern,
    literal: options.literal ?? false,
    ignoreCase: options.ignoreCase ?? false,
    timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  })
  try {
    const paths = wanted.map(({ path }) => `${root}/${path}`)
    for await (const { path, content } of files.readMany(
      paths,
      options.signal === undefined ? {} : { signal: options.signal },
    )) {
      const bytes = new Uint8Array(await new Response(content).arrayBuffer())
      if (bytes.subarray(0, BINARY_PROBE_BYTES).includes(0)) {
        filesSkipped++
        continue
      }
      filesSearched++
      // One more than wanted tells whether there are more.
      const found = await matchesIn(bytes, matcher, {
        limit: limit - matches.length + 1,
        context: options.context ?? 0,
      })
      const shown = show(path.slice(root.length + 1))
      matches.push(...found.map((match) => ({ path: shown, ...match })))
      if (matches.length > limit) {
        truncated = true
        matches.length = limit
        break
      }
    }
  } finally {
    await matcher[Symbol.asyncDispose]()
  }
  return { matches, truncated, filesSearched, filesSkipped }
}

async function matchesIn(
  bytes: Uint8Array,
  matcher: LineMatcher,
  options: { readonly limit: number; readonly context: number },
): Promise<readonly Omit<GrepMatch, 'path'>[]> {
  const lines = new TextDecoder().decode(bytes).split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  const { limit, context } = options
  const around = (from: number, to: number): string[] => lines.slice(Math.max(from, 0), Math.max(to, 0)).map(cut)
  return (await matcher.match(lines, limit)).map((index) => ({
    line: index + 1,
    text: cut(lines[index] ?? ''),
    before: around(index - context, index),
    after: around(index + 1, index + 1 + context),
  }))
}

function cut(line: string): string {
  return line.length <= MAX_LINE_CHARACTERS ? line : `${line.slice(0, MAX_LINE_CHARACTERS - 1)}…`
}
