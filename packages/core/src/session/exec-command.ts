import type { SandboxProcess } from '../contracts/process.js'
import type { ExecOptions, ExecResult } from '../contracts/session.js'
import { SandboxError } from '../errors/sandbox-error.js'
import { feedStdin } from './feed-stdin.js'
import { OutputCollector } from './output-collector.js'

const DEFAULT_MAX_OUTPUT_BYTES = 1024 * 1024

export interface ExecCommandRequest {
  readonly spawn: (stdin: 'closed' | 'pipe') => Promise<SandboxProcess>
  readonly options: ExecOptions
  readonly nowMs: () => number
}

/** Runs a command to its end: feeds its stdin, drains both outputs at once and keeps what may be kept. */
export async function execCommand(request: ExecCommandRequest): Promise<ExecResult> {
  const { options, nowMs } = request
  const maxBytes = options.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES
  assertCount(maxBytes)
  const startedMs = nowMs()
  const process = await request.spawn(options.stdin === undefined ? 'closed' : 'pipe')
  const feed = options.stdin === undefined ? undefined : feedStdin(process.stdin, options.stdin)
  const stdout = new OutputCollector(maxBytes)
  const stderr = new OutputCollector(maxBytes)
  try {
    const ended = Promise.all([
      process.wait(),
      drain(process.stdout, stdout, onText(options, 'stdout')),
      drain(process.stderr, stderr, onText(options, 'stderr')),
    ])
    const [exit] = await (feed === undefined ? ended : Promise.race([ended, feed.failed]))
    return {
      ...exit,
      stdout: stdout.text(),
      stderr: stderr.text(),
      stdoutBytes: stdout.bytes(),
      stderrBytes: stderr.bytes(),
      stdoutTotalBytes: stdout.totalBytes,
      stderrTotalBytes: stderr.totalBytes,
      truncated: stdout.truncated || stderr.truncated,
      durationMs: nowMs() - startedMs,
    }
  } finally {
    feed?.stop()
    await process[Symbol.asyncDispose]()
  }
}

type TextListener = (chunk: Uint8Array | undefined) => void

/** Decodes as it goes, so that no character is split between two calls. */
function onText(options: ExecOptions, stream: 'stdout' | 'stderr'): TextListener | undefined {
  const { onOutput } = options
  if (onOutput === undefined) return undefined
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  return (chunk) => {
    const text = chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true })
    if (text !== '') onOutput({ stream, text })
  }
}

async function drain(
  source: ReadableStream<Uint8Array>,
  into: OutputCollector,
  listener: TextListener | undefined,
): Promise<void> {
  const reader = source.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      into.add(value)
      listener?.(value)
    }
    listener?.(undefined)
  } finally {
    reader.releaseLock()
  }
}

function assertCount(maxOutputBytes: number): void {
  if (Number.isInteger(maxOutputBytes) && maxOutputBytes >= 0) return
  throw new SandboxError('invalid_argument', 'exec: maxOutputBytes is a whole number of bytes, 0 or more', {
    argument: 'maxOutputBytes',
    reason: 'not a whole number',
  })
}
