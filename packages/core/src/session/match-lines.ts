import { Worker } from 'node:worker_threads'
import { SandboxError } from '../errors/sandbox-error.js'

/** Where a line of a text matches. Both from 0. */
export interface LineMatch {
  readonly line: number
  readonly column: number
}

/** Tells which lines of a text match, at most `limit` of them. Disposal ends what it holds. */
export interface LineMatcher extends AsyncDisposable {
  /** One call at a time. Rejects with the reason of the signal when that fires. */
  match(text: string, limit: number): Promise<readonly LineMatch[]>
}

export interface LineMatcherOptions {
  readonly pattern: string
  readonly literal: boolean
  readonly ignoreCase: boolean
  readonly signal: AbortSignal
}

const LINE_END = /\r?\n/

/** The lines that matches count by. A line end at the end of the text begins no line. */
export function linesOf(text: string): readonly string[] {
  const lines = text.split(LINE_END)
  if (lines.at(-1) === '') lines.pop()
  return lines
}

/** A matcher for one search. Throws `invalid_argument` for a pattern that is no regular expression. */
export function createLineMatcher(options: LineMatcherOptions): LineMatcher {
  const { pattern, literal, ignoreCase } = options
  if (pattern === '') throw unusable('the pattern is empty')
  // A thread takes longer to start than most texts to search.
  const plain = literal || (!ignoreCase && /^[\w\s/"'<>=,;:@#%&!~`-]+$/.test(pattern))
  return plain
    ? new LiteralMatcher(pattern, ignoreCase, options.signal)
    : new ExpressionMatcher(compiled(options), options)
}

class LiteralMatcher implements LineMatcher {
  readonly #fold: (text: string) => string
  readonly #wanted: string
  readonly #signal: AbortSignal

  constructor(pattern: string, ignoreCase: boolean, signal: AbortSignal) {
    this.#fold = ignoreCase ? (text) => text.toLowerCase() : (text) => text
    this.#wanted = this.#fold(pattern)
    this.#signal = signal
  }

  async match(text: string, limit: number): Promise<readonly LineMatch[]> {
    this.#signal.throwIfAborted()
    if (!this.#fold(text).includes(this.#wanted)) return []
    const found: LineMatch[] = []
    for (const [line, content] of linesOf(text).entries()) {
      if (found.length >= limit) break
      const column = this.#fold(content).indexOf(this.#wanted)
      if (column !== -1) found.push({ line, column })
    }
    return found
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** Models escape more than a regular expression with `u` admits: then it is taken without. */
function compiled({ pattern, ignoreCase }: LineMatcherOptions): RegExp {
  const flags = ignoreCase ? 'i' : ''
  try {
    return new RegExp(pattern, `u${flags}`)
  } catch {
    try {
      return new RegExp(pattern, flags)
    } catch (error) {
      throw unusable(error instanceof Error ? error.message : String(error))
    }
  }
}

// Runs in a thread of its own, because only a thread can be ended in the middle of a match. Plain text, so that it needs
// no file that a bundler would have to find.
const PROGRAM = `
  const { parentPort, workerData } = require('node:worker_threads')
  const { expression, lineEnd } = workerData
  parentPort.on('message', ({ text, limit }) => {
    const found = []
    const lines = text.split(lineEnd)
    if (lines.at(-1) === '') lines.pop()
    for (let line = 0; line < lines.length && found.length < limit; line++) {
      const match = expression.exec(lines[line])
      if (match !== null) found.push({ line, column: match.index })
    }
    parentPort.postMessage(found)
  })
`
const MAX_HEAP_MIB = 512

/** A pattern can take longer than the universe has time: the thread that tries it is ended when its time is over. */
class ExpressionMatcher implements LineMatcher {
  readonly #worker: Worker
  readonly #signal: AbortSignal
  #answer: { resolve: (found: readonly LineMatch[]) => void; reject: (error: unknown) => void } | undefined

  constructor(expression: RegExp, { signal }: LineMatcherOptions) {
    this.#signal = signal
    this.#worker = new Worker(PROGRAM, {
      eval: true,
      workerData: { expression, lineEnd: LINE_END },
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB },
    })
    this.#worker.unref()
    this.#worker.on('message', (found: readonly LineMatch[]) => this.#answer?.resolve(found))
    this.#worker.on('error', (error) => this.#answer?.reject(outOfMemory(error)))
    signal.addEventListener('abort', this.#onAbort)
  }

  match(text: string, limit: number): Promise<readonly LineMatch[]> {
    return new Promise((resolve, reject) => {
      this.#answer = { resolve, reject }
      if (this.#signal.aborted) this.#onAbort()
      else this.#worker.postMessage({ text, limit })
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#signal.removeEventListener('abort', this.#onAbort)
    await this.#worker.terminate()
  }

  readonly #onAbort = (): void => this.#answer?.reject(this.#signal.reason)
}

function outOfMemory(cause: Error): SandboxError<'quota_exceeded'> {
  return new SandboxError(
    'quota_exceeded',
    `grep: the pattern needs more than ${MAX_HEAP_MIB} MiB of memory; make it simpler`,
    { quota: 'grep memory', limit: MAX_HEAP_MIB * 1024 * 1024 },
    { cause },
  )
}

function unusable(reason: string): SandboxError<'invalid_argument'> {
  return new SandboxError('invalid_argument', `grep: ${reason}; set literal to search for plain text`, {
    argument: 'pattern',
    reason,
  })
}
