import type { SandboxFiles, TreeEntry } from '../contracts/files.js'
import type { GrepMatch, GrepOptions, GrepResult } from '../contracts/session.js'
import { SandboxError } from '../errors/sandbox-error.js'
import { compileGlob } from '../match/glob-pattern.js'
import { filterYielding } from './filter-yielding.js'
import { createLineMatcher, linesOf } from './match-lines.js'
import type { LineMatcher } from './match-lines.js'

const MAX_FILE_BYTES = 16 * 1024 * 1024
const MAX_LINE_CHARACTERS = 500
/** Shown before a match that lies further to the right than a line is shown. */
const LEAD_CHARACTERS = 100
const BINARY_PROBE_BYTES = 8 * 1024
const DEFAULT_TIMEOUT_MS = 10_000
const DEFAULT_LIMIT = 1_000
/** Of setTimeout. */
const MAX_TIMER_MS = 2 ** 31 - 1

export interface GrepFilesRequest {
  readonly files: SandboxFiles
  readonly root: string
  /** Relative to `root`, in order. */
  readonly candidates: readonly TreeEntry[]
  /** Makes a path relative to `root` what the caller is shown. */
  readonly show: (path: string) => string
  readonly pattern: string
  readonly options: GrepOptions
  /** Masks secrets: a line is masked before it is cut, because what is left of a secret is not known any more. */
  readonly redact: (text: string) => string
}

/** Searches files one after another until there are enough matches. */
export async function grepFiles(request: GrepFilesRequest): Promise<GrepResult> {
  const { options, pattern } = request
  const bound = boundOf(options)
  try {
    const matcher = createLineMatcher({
      pattern,
      literal: options.literal ?? false,
      ignoreCase: options.ignoreCase ?? false,
      signal: bound.signal,
    })
    try {
      return await search(request, matcher, bound.signal)
    } finally {
      await matcher[Symbol.asyncDispose]()
    }
  } catch (error) {
    throw bound.signal.aborted ? bound.signal.reason : error
  } finally {
    bound.clear()
  }
}

async function search(request: GrepFilesRequest, matcher: LineMatcher, signal: AbortSignal): Promise<GrepResult> {
  const { candidates, options, root, files, show, redact } = request
  const { limit = DEFAULT_LIMIT, context = 0, glob } = options
  const isWanted = glob === undefined ? () => true : compileGlob(glob)
  const wanted = await filterYielding(candidates, ({ path }) => isWanted(path), signal)
  const small = wanted.filter(({ sizeBytes }) => sizeBytes <= MAX_FILE_BYTES).map(({ path }) => `${root}/${path}`)
  const matches: GrepMatch[] = []
  let filesSearched = 0
  let filesSkipped = wanted.length - small.length
  for await (const { path, content } of files.readMany(small, { signal })) {
    const text = await readText(content)
    if (text === undefined) {
      filesSkipped++
      continue
    }
    filesSearched++
    const shown = show(path.slice(root.length + 1))
    // One more than wanted tells whether there are more.
    const found = await matchesIn(text, matcher, { limit: limit - matches.length + 1, context, redact })
    matches.push(...found.map((match) => ({ path: shown, ...match })))
    if (matches.length > limit)
      return { matches: matches.slice(0, limit), truncated: true, filesSearched, filesSkipped }
  }
  return { matches, truncated: false, filesSearched, filesSkipped }
}

/** Undefined for what is binary, or has grown too large meanwhile. */
async function readText(content: ReadableStream<Uint8Array>): Promise<string | undefined> {
  const chunks: Uint8Array[] = []
  let sizeBytes = 0
  for await (const chunk of content) {
    const probe = chunk.subarray(0, Math.max(0, BINARY_PROBE_BYTES - sizeBytes))
    sizeBytes += chunk.length
    if (probe.includes(0) || sizeBytes > MAX_FILE_BYTES) return undefined
    chunks.push(chunk)
  }
  return new TextDecoder().decode(Buffer.concat(chunks))
}

async function matchesIn(
  text: string,
  matcher: LineMatcher,
  {
    limit,
    context,
    redact,
  }: { readonly limit: number; readonly context: number; readonly redact: GrepFilesRequest['redact'] },
): Promise<readonly Omit<GrepMatch, 'path'>[]> {
  const found = await matcher.match(text, limit)
  if (found.length === 0) return []
  const lines = linesOf(text)
  // Lines that are near each other's matches are asked for more than once.
  const masked = new Map<number, string>()
  const mask = (index: number): string => {
    const line = lines[index] ?? ''
    if (line.length <= MAX_LINE_CHARACTERS) return line
    const known = masked.get(index) ?? redact(line)
    masked.set(index, known)
    return known
  }
  const around = (from: number, to: number): string[] => {
    const start = Math.max(from, 0)
    return lines.slice(start, to).map((_, index) => cutLine(mask(start + index), 0))
  }
  const shownMatch = (index: number, column: number): string => {
    const line = mask(index)
    // Masking moves what stands after it.
    const moved = line === lines[index] ? column : redact((lines[index] ?? '').slice(0, column)).length
    return cutLine(line, Math.min(moved, line.length))
  }
  return found.map(({ line, column }) => ({
    line: line + 1,
    text: shownMatch(line, column),
    before: around(line - context, line),
    after: around(line + 1, line + 1 + context),
  }))
}

/** At most so many characters of a line, with the column among them. */
function cutLine(line: string, column: number): string {
  if (line.length <= MAX_LINE_CHARACTERS) return line
  const start = column < MAX_LINE_CHARACTERS - LEAD_CHARACTERS ? 0 : column - LEAD_CHARACTERS
  const lead = start === 0 ? '' : '…'
  const end = start + MAX_LINE_CHARACTERS - 2
  // Half of a pair of surrogates is no character.
  const shown = line.slice(start, end).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '')
  return `${lead}${shown}${end < line.length ? '…' : ''}`
}

/** Fires when the caller gives up, or the time is over; the reason is the error to throw. */
function boundOf(options: GrepOptions): { readonly signal: AbortSignal; clear(): void } {
  const { signal, timeoutMs = DEFAULT_TIMEOUT_MS } = options
  const controller = new AbortController()
  const onAbort = (): void =>
    controller.abort(new SandboxError('aborted', 'grep was aborted by its signal', {}, { cause: signal?.reason }))
  const timer = setTimeout(
    () => {
      const message = `grep took longer than ${timeoutMs} ms; make the pattern simpler, narrow it with glob or cwd, or raise timeoutMs`
      controller.abort(new SandboxError('timeout', message, { timeoutMs }, { retryable: false }))
    },
    Math.min(timeoutMs, MAX_TIMER_MS),
  )
  if (signal?.aborted === true) onAbort()
  else signal?.addEventListener('abort', onAbort)
  return {
    signal: controller.signal,
    clear: () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    },
  }
}
