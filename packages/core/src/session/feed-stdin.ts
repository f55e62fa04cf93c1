import type { ByteSource } from '../contracts/files.js'

/** Input on its way to a command. */
export interface StdinFeed {
  /** Rejects when the source of the input fails; resolves never. */
  readonly failed: Promise<never>
  /** The command has ended: nothing more is taken from the source. */
  stop(): void
}

/**
 * Gives a command its input, as fast as it reads, then end of file. A command may end, or close its stdin, before it has
 * read everything: that is no failure.
 */
export function feedStdin(stdin: WritableStream<Uint8Array>, data: string | ByteSource): StdinFeed {
  const source = sourceOf(data)
  let fail: (error: unknown) => void = () => undefined
  const failed = new Promise<never>((_, reject) => (fail = reject))
  failed.catch(() => undefined)
  pump(stdin, source, fail).catch(fail)
  return { failed, stop: source.cancel }
}

async function pump(stdin: WritableStream<Uint8Array>, source: Source, fail: (error: unknown) => void): Promise<void> {
  const writer = stdin.getWriter()
  writer.closed.catch(() => undefined)
  for (;;) {
    let chunk: Uint8Array | undefined
    try {
      chunk = await source.next()
    } catch (error) {
      fail(error)
      await writer.abort(error).catch(() => undefined)
      return
    }
    try {
      if (chunk === undefined) return await writer.close()
      await writer.ready
      if (chunk.length > 0) await writer.write(chunk)
    } catch {
      source.cancel()
      return
    }
  }
}

interface Source {
  /** Undefined at the end. */
  next(): Promise<Uint8Array | undefined>
  /** Lets the source go, also while a chunk of it is waited for. Idempotent. */
  readonly cancel: () => void
}

function sourceOf(data: string | ByteSource): Source {
  if (typeof data === 'string') return sourceOfBytes(new TextEncoder().encode(data))
  if (data instanceof Uint8Array) return sourceOfBytes(data)
  return data instanceof ReadableStream ? sourceOfStream(data) : sourceOfIterable(data)
}

function sourceOfBytes(bytes: Uint8Array): Source {
  const chunks = [bytes]
  return { next: () => Promise.resolve(chunks.pop()), cancel: () => undefined }
}

/** Not by its iterator, which could not be ended while it waits. */
function sourceOfStream(stream: ReadableStream<Uint8Array>): Source {
  const reader = stream.getReader()
  return {
    next: async () => (await reader.read()).value,
    cancel: () => void reader.cancel().catch(() => undefined),
  }
}

function sourceOfIterable(iterable: AsyncIterable<Uint8Array>): Source {
  const iterator = iterable[Symbol.asyncIterator]()
  return {
    next: async () => {
      const { done, value } = (await iterator.next()) as IteratorResult<Uint8Array, undefined>
      return done === true ? undefined : value
    },
    cancel: () => void iterator.return?.().catch(() => undefined),
  }
}
