import type { BlobStore } from '@cofferdam/core/plugin'

/** Bytes that differ at every place and with every seed, so that no canned answer passes for them. */
export function bytesOf(sizeBytes: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(sizeBytes)
  let state = (seed + 1) * 0x9e3779b1
  for (let index = 0; index < sizeBytes; index++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    bytes[index] = state >>> 24
  }
  return bytes
}

export async function readAll(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return new Uint8Array(Buffer.concat(chunks))
}

export async function readBlob(store: BlobStore, key: string): Promise<Uint8Array> {
  return await readAll(await store.get(key))
}

export async function keysOf(store: BlobStore, prefix: string): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of store.list(prefix)) keys.push(key)
  return keys
}

/** The bytes in pieces, as a stream that counts what was asked of it. */
export function streamOf(
  bytes: Uint8Array,
  chunkBytes: number,
): { stream: ReadableStream<Uint8Array>; pulled(): number } {
  let position = 0
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (position >= bytes.length) return controller.close()
        controller.enqueue(bytes.slice(position, position + chunkBytes))
        position += chunkBytes
      },
    },
    { highWaterMark: 0 },
  )
  return { stream, pulled: () => position }
}
