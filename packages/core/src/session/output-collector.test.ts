import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { OutputCollector } from './output-collector.js'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

/** The bytes in pieces of the given sizes, over and over. */
function* pieces(bytes: Uint8Array, sizes: readonly number[]): Generator<Uint8Array> {
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1
    yield bytes.slice(at, at + size)
    at += size
  }
}

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 })

describe('collected output', () => {
  it('is the beginning and the end of all bytes, however they came', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 300 }),
        sizes,
        fc.integer({ min: 0, max: 200 }),
        (bytes, cuts, maxBytes) => {
          const collector = new OutputCollector(maxBytes)
          for (const piece of pieces(bytes, cuts)) {
            collector.add(piece)
            // What was given is the giver's again.
            piece.fill(0xee)
          }
          const [head, tail] = [Math.ceil(maxBytes / 2), Math.floor(maxBytes / 2)]
          const kept =
            bytes.length <= maxBytes
              ? bytes
              : Buffer.concat([bytes.subarray(0, head), bytes.subarray(bytes.length - tail)])
          expect(Buffer.compare(collector.bytes(), kept)).toBe(0)
          expect(collector.totalBytes).toBe(bytes.length)
          expect(collector.truncated).toBe(bytes.length > maxBytes)
        },
      ),
    )
  })

  it('as text loses whole characters only, and says how many bytes', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'é', '漢', '🦜', '\n'), maxLength: 120 })
    fc.assert(
      fc.property(text, sizes, fc.integer({ min: 0, max: 90 }), (whole, cuts, maxBytes) => {
        const collector = new OutputCollector(maxBytes)
        for (const piece of pieces(encode(whole), cuts)) collector.add(piece)
        if (!collector.truncated) {
          expect(collector.text()).toBe(whole)
          return
        }
        const [, head = '', missing, tail = ''] =
          /^([^]*)\n\[… (\d+) bytes left out …\]\n([^]*)$/.exec(collector.text()) ?? []
        expect(whole.startsWith(head) && whole.endsWith(tail)).toBe(true)
        expect(encode(head).length + Number(missing) + encode(tail).length).toBe(collector.totalBytes)
        // At most three bytes at each seam go with what is left out.
        expect(Number(missing)).toBeLessThanOrEqual(collector.totalBytes - maxBytes + 6)
      }),
    )
  })

  it('keeps a byte order mark, and bytes that are no text as replacement characters', () => {
    const collector = new OutputCollector(100)
    collector.add(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61, 0xff, 0xe2, 0x82))
    expect(collector.text()).toBe('\ufeffa\ufffd\ufffd')
    expect(collector.bytes()).toHaveLength(7)
  })

  it('holds no more than it may, whatever comes', () => {
    const maxBytes = 1024 * 1024
    const chunk = new Uint8Array(64 * 1024)
    const collector = new OutputCollector(maxBytes)
    const before = process.memoryUsage().arrayBuffers
    for (let i = 0; i < 4_096; i++) collector.add(chunk)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 * maxBytes + 64 * 1024)
    expect(collector.totalBytes).toBe(4_096 * chunk.length)
    expect(collector.bytes()).toHaveLength(maxBytes)
  })
})
