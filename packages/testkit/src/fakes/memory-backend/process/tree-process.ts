import type { ProcessExit, SandboxProcess, Signal } from '@cofferdam/core/plugin'
import { SandboxError } from '@cofferdam/core/plugin'
import type { Pipe } from './open-file.js'
import type { ProcessTree } from './process-tree.js'

/** A caller's handle on a command. */
export class TreeProcess implements SandboxProcess {
  readonly #tree: ProcessTree
  /** Where a later reader begins; null for the one who spawned the command. */
  readonly #fromOffset: number | null
  #stdin: WritableStream<Uint8Array> | undefined
  #stdout: ReadableStream<Uint8Array> | undefined
  #stderr: ReadableStream<Uint8Array> | undefined

  constructor(tree: ProcessTree, fromOffset: number | null) {
    this.#tree = tree
    this.#fromOffset = fromOffset
  }

  get id(): string {
    return this.#tree.id
  }

  get stdin(): WritableStream<Uint8Array> {
    this.#stdin ??= this.#tree.stdin === null ? closedStream() : pipeStream(this.#tree, this.#tree.stdin)
    return this.#stdin
  }

  get stdout(): ReadableStream<Uint8Array> {
    const { output } = this.#tree
    this.#stdout ??= this.#fromOffset === null ? output.channelStream('stdout') : output.followStream(this.#fromOffset)
    return this.#stdout
  }

  get stderr(): ReadableStream<Uint8Array> {
    this.#stderr ??= this.#fromOffset === null ? this.#tree.output.channelStream('stderr') : emptyStream()
    return this.#stderr
  }

  resize(): Promise<void> {
    return Promise.reject(
      new SandboxError('unsupported_feature', 'the memory backend has no terminals', {
        feature: 'tty',
        reason: 'the command has no terminal',
      }),
    )
  }

  kill(signal: Signal = 'SIGKILL'): Promise<void> {
    this.#tree.kill(signal)
    return Promise.resolve()
  }

  async wait(): Promise<ProcessExit> {
    const { root } = this.#tree
    if (root.death === null) await new Promise<void>((resolve) => void root.ended.add(resolve))
    if (this.#tree.aborted) throw new SandboxError('aborted', 'the command was killed by the signal of its spawn', {})
    return this.#tree.exit!
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#fromOffset !== null) {
      // A stream that somebody is reading ends with its reader.
      if (this.#stdout?.locked === false) await this.#stdout.cancel()
      return
    }
    if (this.#tree.request.background !== true) this.#tree.kill('SIGKILL')
  }
}

function closedStream(): WritableStream<Uint8Array> {
  const stream = new WritableStream<Uint8Array>()
  void stream.close()
  return stream
}

function emptyStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() })
}

/** What is written to a command that has ended, or closed its input, goes nowhere. */
function pipeStream(tree: ProcessTree, pipe: Pipe): WritableStream<Uint8Array> {
  let open = true
  const close = (): void => {
    if (open) pipe.writer.release()
    open = false
  }
  return new WritableStream<Uint8Array>(
    {
      async write(chunk) {
        let rest = chunk
        while (rest.length > 0 && pipe.readers > 0 && tree.root.death === null) {
          const { room } = pipe
          if (room > 0) {
            pipe.push(rest.slice(0, room))
            rest = rest.subarray(room)
            continue
          }
          await new Promise<void>((resolve) => {
            const unregister = [pipe.changed.add(done), tree.root.ended.add(done)]
            function done(): void {
              for (const remove of unregister) remove()
              resolve()
            }
          })
        }
      },
      close,
      abort: close,
    },
    { highWaterMark: 1 },
  )
}
