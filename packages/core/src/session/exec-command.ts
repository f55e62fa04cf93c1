import type { ByteSource } from '../contracts/files.js'
import type { SandboxProcess } from '../contracts/process.js'
import type { ExecOptions, ExecResult } from '../contracts/session.js'
import { SandboxError } from '../errors/sandbox-error.js'
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
  const stdout = new OutputCollector(maxBytes)
  const stderr = new OutputCollector(maxBytes)
  try {
    const [exit] = await Promise.all([
      process.wait(),
      drain(process.stdout, stdout, onText(options, 'stdout')),
      drain(process.stderr, stderr, onText(options, 'stderr')),
      options.stdin === undefined ? undefined : feed(process.stdin, options.stdin),
    ])
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
    await process[Symbol.asyncDispose]()
  }
}

type TextListener = (chunk: Uint8Array | undefined) => void

/** Decodes as it goes, so that no character is split between two calls. */
function onText(options: ExecOptions, stream: 'stdout' | 'stderr'): TextListener | undefined {
  const { onOutput } = options
  if (onOutput === undefined) return undefined
  const decoder = new TextDecoder()
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

/** A command may end, or close its stdin, before it has read everything: that is no failure of ours. */
async function feed(stdin: WritableStream<Uint8Array>, data: string | ByteSource): Promise<void> {
  const writer = stdin.getWriter()
  const chunks =
    typeof data === 'string' ? [new TextEncoder().encode(data)] : data instanceof Uint8Array ? [data] : data
  let reading = true
  try {
    for await (const chunk of chunks) {
      reading = false
      await writer.ready
      await writer.write(chunk)
      reading = true
    }
    reading = false
    await writer.close()
  } catch (error) {
    if (reading) {
      await writer.abort(error).catch(() => undefined)
      throw error
    }
  }
}

function assertCount(maxOutputBytes: number): void {
  if (Number.isInteger(maxOutputBytes) && maxOutputBytes >= 0) return
  throw new SandboxError('invalid_argument', 'exec: maxOutputBytes is a whole number of bytes, 0 or more', {
    argument: 'maxOutputBytes',
    reason: 'not a whole number',
  })
}
