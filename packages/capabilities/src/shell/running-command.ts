import type { ProcessExit, SandboxProcess, Signal } from '@cofferdam/core/plugin'
import { OutputLog, wholeCharacters } from './output-log.js'
import { redactBetween, redactContinued } from './redact-continued.js'

/** How long the streams of a command may stay open after it has ended. */
const STREAM_GRACE_MS = 2_000
/** How far back a secret may have begun, and how far on one may end. */
export const CONTEXT_BYTES: number = 16 * 1024
const INTERRUPT = '\x03'
const END_OF_TRANSMISSION = '\x04'

export interface CommandStart {
  readonly command: string
  readonly tty: boolean
  readonly background: boolean
  /** Whether it can be written to. */
  readonly stdin: boolean
}

/** How a command ended; `error` when that is not known, the connection having been lost. */
export type CommandEnd = { readonly exit: ProcessExit; readonly durationMs: number } | { readonly error: unknown }

/** Output since it was last asked for, masked. */
export interface UnreadOutput {
  readonly text: string
  /** Bytes that came but were not kept. */
  readonly droppedBytes: number
}

/** One command that a tool started: its output kept, its end awaited, so that no call has to stay with it. */
export class RunningCommand {
  readonly start: CommandStart
  readonly startedAtMs: number = Date.now()
  /** Resolves when the command has ended and its output is complete. Never rejects. */
  readonly ended: Promise<CommandEnd>
  readonly #process: SandboxProcess
  readonly #log = new OutputLog()
  readonly #readers: ReadableStreamDefaultReader<Uint8Array>[] = []
  readonly #input: WritableStreamDefaultWriter<Uint8Array> | undefined
  #readTo = 0
  #end: CommandEnd | undefined
  #pendingInput = 0
  #inputOpen: boolean

  constructor(process: SandboxProcess, start: CommandStart) {
    this.#process = process
    this.start = start
    this.#inputOpen = start.stdin
    this.#input = start.stdin ? process.stdin.getWriter() : undefined
    this.#input?.closed.then(
      () => (this.#inputOpen = false),
      () => (this.#inputOpen = false),
    )
    this.ended = this.#follow()
  }

  get id(): string {
    return this.#process.id
  }
  /** undefined while it runs. */
  get end(): CommandEnd | undefined {
    return this.#end
  }
  get totalBytes(): number {
    return this.#log.totalBytes
  }
  get unreadBytes(): number {
    return this.#log.totalBytes - this.#readTo
  }
  get inputOpen(): boolean {
    return this.#inputOpen
  }
  /** Whether what was written before is still not taken. */
  get inputStuck(): boolean {
    return this.#pendingInput > 0
  }
  get log(): OutputLog {
    return this.#log
  }

  /** What came since the last call, up to the last whole character. */
  takeUnread(redact: (text: string) => string): UnreadOutput {
    const pieces = [...this.#log.read(this.#readTo)]
    const last = pieces.at(-1)
    if (last !== undefined && this.#end === undefined) {
      pieces[pieces.length - 1] = { from: last.from, bytes: last.bytes.subarray(0, wholeCharacters(last.bytes)) }
    }
    const before = this.#textBefore(this.#readTo)
    let droppedBytes = 0
    let text = ''
    for (const [index, piece] of pieces.entries()) {
      const bytes = index < pieces.length - 1 ? upToLastLine(piece.bytes) : piece.bytes
      const skipped = piece.from > this.#readTo ? firstLineLength(bytes) : 0
      const gap = piece.from + skipped - this.#readTo
      const decoded = bytes.toString('utf8', skipped)
      text += gap === 0 ? redactContinued(before, decoded, redact) : `[… ${gap} bytes left out …]\n${redact(decoded)}`
      droppedBytes += gap
      this.#readTo = piece.from + bytes.length
    }
    return { text, droppedBytes }
  }

  /** Output from an offset on, without a gap, up to a line end where more follows. Takes nothing from the unread. */
  readFrom(
    offset: number,
    maxBytes: number,
    redact: (text: string) => string,
  ): { from: number; next: number; text: string } {
    const [piece] = this.#log.read(offset, Math.max(offset, 0) + this.#log.totalBytes)
    if (piece === undefined) return { from: this.#log.totalBytes, next: this.#log.totalBytes, text: '' }
    const more = piece.bytes.length > maxBytes
    const window = piece.bytes.subarray(0, maxBytes)
    const feed = more ? window.lastIndexOf(0x0a) : -1
    const bytes = feed === -1 ? window.subarray(0, wholeCharacters(window)) : window.subarray(0, feed + 1)
    // A secret may end beyond what is shown.
    const after = piece.bytes.subarray(bytes.length, bytes.length + CONTEXT_BYTES).toString('utf8')
    const text = redactBetween(this.#textBefore(piece.from), bytes.toString('utf8'), after, redact)
    return { from: piece.from, next: piece.from + bytes.length, text }
  }

  /**
   * Writes to the command. On a terminal everything goes there as it is; else Ctrl-C becomes SIGINT for everything that the
   * command started. Resolves when all of it was taken; rejects when the command closed its input.
   */
  async write(chars: string): Promise<void> {
    if (this.start.tty) return this.#send(chars)
    for (const [index, part] of chars.split(INTERRUPT).entries()) {
      if (index > 0) await this.#process.kill('SIGINT')
      if (part !== '') await this.#send(part)
    }
  }

  /** Gives the command end of file. */
  async endInput(): Promise<void> {
    if (this.start.tty) return this.#send(END_OF_TRANSMISSION)
    this.#inputOpen = false
    await this.#input?.close()
  }

  kill(signal?: Signal): Promise<void> {
    return this.#process.kill(signal)
  }

  /** Ends it and all that it started. */
  async dispose(): Promise<void> {
    try {
      await this.#process.kill()
    } finally {
      await this.#process[Symbol.asyncDispose]()
    }
  }

  async #send(text: string): Promise<void> {
    if (this.#input === undefined) return
    this.#pendingInput++
    try {
      await this.#input.write(new TextEncoder().encode(text))
    } finally {
      this.#pendingInput--
    }
  }

  #textBefore(offset: number): string {
    return (this.#log.read(Math.max(offset - CONTEXT_BYTES, 0), offset).at(-1)?.bytes ?? Buffer.alloc(0)).toString(
      'utf8',
    )
  }

  async #follow(): Promise<CommandEnd> {
    const startedMs = performance.now()
    const pumps = Promise.all([this.#pump(this.#process.stdout), this.#pump(this.#process.stderr)])
    try {
      const exit = await this.#process.wait()
      const durationMs = Math.round(performance.now() - startedMs)
      await this.#finishStreams(pumps)
      this.#end = { exit, durationMs }
    } catch (error) {
      this.#end = { error }
    }
    for (const reader of this.#readers) reader.cancel().catch(() => undefined)
    this.#inputOpen = false
    return this.#end
  }

  async #pump(stream: ReadableStream<Uint8Array>): Promise<void> {
    const reader = stream.getReader()
    this.#readers.push(reader)
    try {
      for (;;) {
        const { done, value } = await reader.read()
        if (done) return
        this.#log.add(value)
      }
    } catch {
      // What broke the stream is what `wait` says of the command.
    }
  }

  /** A stream that does not end with its command must not hold the answer back. */
  async #finishStreams(pumps: Promise<unknown>): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const grace = new Promise<void>((resolve) => (timer = setTimeout(resolve, STREAM_GRACE_MS)))
    await Promise.race([pumps, grace])
    clearTimeout(timer)
  }
}

/** How far a line end is looked for beside a gap: a part of a line may begin or end within a character or a secret. */
const NEAR_GAP_BYTES = 8 * 1024

function upToLastLine(bytes: Buffer): Buffer {
  const feed = bytes.lastIndexOf(0x0a)
  return feed < bytes.length - NEAR_GAP_BYTES ? bytes : bytes.subarray(0, feed + 1)
}

function firstLineLength(bytes: Buffer): number {
  const feed = bytes.indexOf(0x0a)
  return feed > NEAR_GAP_BYTES ? 0 : feed + 1
}
