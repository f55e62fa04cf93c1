import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalPathText, comparePaths, decodePath, encodePath, pathByteLength } from './path-bytes.js'
import { isSandboxError } from '../errors/sandbox-error.js'

/** Bytes that come near to UTF-8: leads, continuations, ASCII and the edges of each range. */
const nearlyUtf8 = fc
  .array(
    fc.oneof(
      fc.constantFrom(0x2f, 0x41, 0x7f, 0x80, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xff),
      fc.constantFrom(0x9f, 0xa0, 0x8f, 0x90, 0xbb, 0xbd),
      fc.integer({ min: 0, max: 255 }),
    ),
    { maxLength: 40 },
  )
  .map((bytes) => Uint8Array.from(bytes))

describe('path bytes', () => {
  it('survive as text, whatever they are', () => {
    fc.assert(
      fc.property(nearlyUtf8, (bytes) => {
        const text = decodePath(bytes)
        expect([...encodePath(text)]).toEqual([...bytes])
        expect(pathByteLength(text)).toBe(bytes.length)
        expect(canonicalPathText(text)).toBe(text)
      }),
      { numRuns: 3000 },
    )
  })

  it('are what every other decoder makes of valid UTF-8', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const bytes = new TextEncoder().encode(text)
        expect(decodePath(bytes)).toBe(text)
        expect([...encodePath(text)]).toEqual([...bytes])
      }),
    )
  })

  it('never contain a slash, dot or NUL that the text has not', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0xdc80, max: 0xdcff })), (units) => {
        expect(encodePath(String.fromCharCode(...units)).every((byte) => byte >= 0x80)).toBe(true)
      }),
    )
  })

  it.each(['\ud800', 'a\udc7f', '\udd00', '\ud83d\ud83d\ude00'])('do not exist for %j', (text) => {
    expect(() => encodePath(text)).toThrow(expect.toSatisfy((error) => isSandboxError(error, 'invalid_argument')))
  })

  it('take only a view of a larger buffer', () => {
    const buffer = new TextEncoder().encode('before/ä/after')
    expect(decodePath(buffer.subarray(7, 9))).toBe('ä')
  })
})

describe('comparePaths', () => {
  it('orders by the bytes of each component, parents first', () => {
    const sorted = ['a', 'a/b', 'a/b/c', 'a/c', 'a ', 'a-b', 'a.b', 'a0', 'ab', 'b', 'z', 'é', '\uffee', '😀', '\udcff']
    expect(sorted.toReversed().sort(comparePaths)).toEqual(sorted)
  })

  it('agrees with a comparison of the components’ bytes', () => {
    const component = nearlyUtf8.map((bytes) => decodePath(bytes.filter((byte) => byte !== 0 && byte !== 0x2f)) || 'x')
    const path = fc.array(component, { minLength: 1, maxLength: 3 })
    fc.assert(
      fc.property(path, path, (a, b) => {
        expect(Math.sign(comparePaths(a.join('/'), b.join('/')))).toBe(compareComponents(a, b))
      }),
      { numRuns: 2000 },
    )
  })
})

function compareComponents(a: readonly string[], b: readonly string[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const order = Buffer.compare(encodePath(a[i]!), encodePath(b[i]!))
    if (order !== 0) return order
  }
  return Math.sign(a.length - b.length)
}
