import type { StreamCounter } from './process/process-output.js'
import type { FileNode } from './tree/nodes.js'

const CHUNK_BYTES = 65_536

/** Reads from the file as it is pulled: what is appended meanwhile is seen, what replaces the file is not. */
export function readStream(
  file: FileNode,
  range: { readonly offset: number; readonly length: number },
  counter: StreamCounter,
): ReadableStream<Uint8Array> {
  let offset = range.offset
  const end = range.offset + range.length
  let open = true
  counter.openStreams++
  const close = (): void => {
    if (open) counter.openStreams--
    open = false
  }
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const chunk = file.bytes.slice(offset, Math.max(offset, Math.min(offset + CHUNK_BYTES, end, file.sizeBytes)))
        offset += chunk.length
        if (chunk.length > 0) controller.enqueue(chunk)
        else {
          close()
          controller.close()
        }
      },
      cancel: close,
    },
    { highWaterMark: 0 },
  )
}
