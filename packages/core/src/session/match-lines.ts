import { Worker } from 'node:worker_threads'
import { SandboxError } from '../errors/sandbox-error.js'

/** Tells which lines of a text match: indices from 0, at most `limit` of them. Disposal ends what it holds. */
export interface LineMatcher extends AsyncDisposable {
  match(lines: readonly string[], limit: number): Promise<readonly number[]>
}

export interface LineMatcherOptions {
  readonly pattern: string
  readonly literal: boolean
  readonly ignoreCase: boolean
  /** For all calls together. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal
}

/** A matcher for one search. Throws `invalid_argument` for a pattern that is no regular expression. */
export function createLineMatcher(options: LineMatcherOptions): LineMatcher {
  const { pattern, literal, ignoreCase } = options
  if (pattern === '') throw unusable('the pattern is empty')
  if (literal) return literalMatcher(pattern, ignoreCase)
  const flags = ignoreCase ? 'iu' : 'u'
  try {
    new RegExp(pattern, flags)
    return regularMatcher(pattern, flags, options)
  } catch (error) {
    throw unusable(error instanceof Error ? error.message : String(error))
  }
}

function literalMatcher(pattern: string, ignoreCase: boolean): LineMatcher {
  const fold = (text: string): string => (ignoreCase ? text.toLowerCase() : text)
  const wanted = fold(pattern)
  return {
    match: (lines, limit) => {
      const found: number[] = []
      for (let i = 0; i < lines.length && found.length < limit; i++)
        if (fold(lines[i] ?? '').includes(wanted)) found.push(i)
      return Promise.resolve(found)
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

// Runs in a thread of its own, because only a thread can be ended in the middle of a match. Plain text, so that it needs
// no file that a bundler would have to find.
const PROGRAM = `
  const { parentPort, workerData } = require('node:worker_threads')
  const expression = new RegExp(workerData.pattern, workerData.flags)
  parentPort.on('message', ({ lines, limit }) => {
    const found = []
    for (let i = 0; i < lines.length && found.length < limit; i++) if (expression.test(lines[i])) found.push(i)
    parentPort.postMessage(found)
  })
`

/** A pattern can take longer than the universe has time: the thread that tries it is ended when its time is over. */
function regularMatcher(pattern: string, flags: string, options: LineMatcherOptions): LineMatcher {
  const { timeoutMs, signal } = options
  const worker = new Worker(PROGRAM, { eval: true, workerData: { pattern, flags }, env: {}, execArgv: [] })
  worker.unref()
  let fail: (error: unknown) => void = () => undefined
  const ended = new Promise<never>((_, reject) => (fail = reject))
  ended.catch(() => undefined)
  const timer = setTimeout(() => {
    const message = `grep: the pattern took longer than ${timeoutMs} ms; make it simpler, or search for plain text with literal`
    fail(new SandboxError('timeout', message, { timeoutMs }, { retryable: false }))
  }, timeoutMs)
  const onAbort = (): void =>
    fail(new SandboxError('aborted', 'grep was aborted by its signal', {}, { cause: signal?.reason }))
  signal?.addEventListener('abort', onAbort, { once: true })
  worker.on('error', fail)
  return {
    match: (lines, limit) => {
      const answer = new Promise<readonly number[]>((resolve) => worker.once('message', resolve))
      worker.postMessage({ lines, limit })
      return Promise.race([answer, ended])
    },
    [Symbol.asyncDispose]: async () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      await worker.terminate()
    },
  }
}

function unusable(reason: string): SandboxError<'invalid_argument'> {
  return new SandboxError('invalid_argument', `grep: ${reason}; set literal to search for plain text`, {
    argument: 'pattern',
    reason,
  })
}
