import type { BlobStore } from '../contracts/blob-store.js'
import { SandboxError } from '../errors/sandbox-error.js'
import { readWhole } from './read-whole.js'

/** What happens to the bytes of keys that begin with `prefix` when they are read, or to their puts. */
export interface BlobFault {
  readonly prefix: string
  readonly kind: 'truncate' | 'flip' | 'lose' | 'extend' | 'fail-get' | 'fail-put' | 'fail-put-after'
  /** Where, as a part of the whole: 0 is the first byte. */
  readonly at?: number
}

/** A store that passes everything on to a sound one, but for one fault. */
export function withBlobFault(sound: BlobStore, fault: BlobFault): BlobStore {
  const hits = (key: string): boolean => key.startsWith(fault.prefix)
  const unavailable = (): SandboxError =>
    new SandboxError('store_unavailable', 'The store went away.', { store: 'faulty', reason: 'made so by a test' })
  return {
    features: sound.features,
    async put(key, data, options) {
      if (!hits(key) || !fault.kind.startsWith('fail-put')) return sound.put(key, data, options)
      if (fault.kind === 'fail-put-after') await sound.put(key, data, options)
      else if (!(data instanceof Uint8Array)) for await (const _ of data) break
      throw unavailable()
    },
    async get(key, options) {
      if (!hits(key)) return sound.get(key, options)
      if (fault.kind === 'lose') throw new SandboxError('blob_not_found', `There is no blob ${key}.`, { key })
      const bytes = Buffer.from((await readWhole(await sound.get(key, options), Infinity))!)
      return damaged(bytes, fault, unavailable)
    },
    head: (key, options) => sound.head(key, options),
    delete: (key, options) => sound.delete(key, options),
    list: (prefix, options) => sound.list(prefix, options),
    [Symbol.asyncDispose]: () => sound[Symbol.asyncDispose](),
  }
}

function damaged(bytes: Buffer, { kind, at = 0.5 }: BlobFault, failure: () => Error): ReadableStream<Uint8Array> {
  const place = Math.min(Math.floor(bytes.length * at), bytes.length - 1)
  if (kind === 'flip') bytes[place]! ^= 1 << (place % 8)
  const isCut = kind === 'truncate' || kind === 'fail-get'
  const rest = [isCut ? bytes.subarray(0, place) : kind === 'extend' ? Buffer.concat([bytes, Buffer.alloc(1)]) : bytes]
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = rest.pop()
      if (chunk !== undefined) controller.enqueue(new Uint8Array(chunk))
      else if (kind === 'fail-get') controller.error(failure())
      else controller.close()
    },
  })
}
