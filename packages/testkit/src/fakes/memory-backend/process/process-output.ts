import type { FileUser, OpenFile } from './open-file.js'
import { OutputRing } from './output-ring.js'
import { WakeList } from './wake-list.js'

const CHANNEL_BYTES = 65_536

/** Told when a stream opens and closes, for the census. */
export interface StreamCounter {
  openStreams: number
}

/** One of stdout and stderr on its way to the one who spawned the command. */
interface Channel {
  readonly queue: Uint8Array[]
  bytes: number
  /** Nobody will read it: output goes to the ring alone. */
  detached: boolean
}

/** A later reader, at its offset of all output. */
interface Follower {
  offset: number
}

/**
 * All output of one command and its descendants. Readers never lose anything: while one is attached and slow, the writers
 * wait for it. The ring keeps the end of it for whoever attaches later.
 */
export class ProcessOutput {
  readonly ring: OutputRing = new OutputRing()
  readonly stdout: OpenFile = new OutputFile(this, 'stdout')
  readonly stderr: OpenFile = new OutputFile(this, 'stderr')
  readonly #counter: StreamCounter
  readonly #changed = new WakeList()
  readonly #channels = { stdout: newChannel(), stderr: newChannel() }
  readonly #followers = new Set<Follower>()
  #ended = false

  constructor(counter: StreamCounter) {
    this.#counter = counter
  }

  /** The command's own process has ended: streams end after what is queued. */
  end(): void {
    this.#ended = true
    this.#changed.wakeAll()
  }

  async write(process: FileUser, name: 'stdout' | 'stderr', bytes: Uint8Array): Promise<void> {
    let rest = bytes
    await process.checkpoint()
    while (rest.length > 0) {
      const room = this.#room(this.#channels[name])
      if (room === 0) {
        await process.block((wake) => this.#changed.add(wake))
        continue
      }
      this.#push(this.#channels[name], rest.slice(0, room))
      rest = rest.subarray(room)
    }
  }

  /** The stream for the one who spawned the command. Asked for once. */
  channelStream(name: 'stdout' | 'stderr'): ReadableStream<Uint8Array> {
    const channel = this.#channels[name]
    return this.#stream({
      next: () => {
        const chunk = channel.queue.shift()
        if (chunk !== undefined) channel.bytes -= chunk.length
        return chunk
      },
      close: () => {
        channel.detached = true
        channel.queue.length = 0
        channel.bytes = 0
      },
    })
  }

  /** All output from an offset on, in the order of arrival. */
  followStream(fromOffset: number): ReadableStream<Uint8Array> {
    const follower: Follower = { offset: Math.max(fromOffset, this.ring.firstOffset) }
    this.#followers.add(follower)
    return this.#stream({
      next: () => {
        const chunk = this.ring.read(follower.offset)
        follower.offset += chunk.length
        return chunk.length === 0 ? undefined : chunk
      },
      close: () => this.#followers.delete(follower),
    })
  }

  #stream(source: { next: () => Uint8Array | undefined; close: () => void }): ReadableStream<Uint8Array> {
    this.#counter.openStreams++
    let open = true
    const close = (): void => {
      if (!open) return
      open = false
      this.#counter.openStreams--
      source.close()
      this.#changed.wakeAll()
    }
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          for (;;) {
            if (!open) return
            const chunk = source.next()
            if (chunk !== undefined) {
              this.#changed.wakeAll()
              return controller.enqueue(chunk)
            }
            if (this.#ended) {
              close()
              return controller.close()
            }
            await new Promise<void>((resolve) => void this.#changed.add(resolve))
          }
        },
        cancel: close,
      },
      { highWaterMark: 0 },
    )
  }

  #room(channel: Channel): number {
    let room = channel.detached || this.#ended ? CHANNEL_BYTES : CHANNEL_BYTES - channel.bytes
    for (const follower of this.#followers) room = Math.min(room, this.ring.roomBefore(follower.offset))
    return Math.max(0, room)
  }

  #push(channel: Channel, bytes: Uint8Array): void {
    this.ring.push(bytes)
    if (!channel.detached && !this.#ended) {
      channel.queue.push(bytes)
      channel.bytes += bytes.length
    }
    this.#changed.wakeAll()
  }
}

class OutputFile implements OpenFile {
  readonly #output: ProcessOutput
  readonly #name: 'stdout' | 'stderr'

  constructor(output: ProcessOutput, name: 'stdout' | 'stderr') {
    this.#output = output
    this.#name = name
  }

  read(): Promise<null> {
    return Promise.resolve(null)
  }

  write(process: FileUser, bytes: Uint8Array): Promise<void> {
    return this.#output.write(process, this.#name, bytes)
  }

  retain(): void {}

  release(): void {}
}

function newChannel(): Channel {
  return { queue: [], bytes: 0, detached: false }
}
