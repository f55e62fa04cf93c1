import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { boundText } from './bound-text.js'

const seed = Number(process.env['COFFERDAM_SEED'] ?? Date.now() % 2 ** 31)
console.info(`bound-text.test.ts: COFFERDAM_SEED=${seed}`)

describe('boundText', () => {
  it('says how much of the middle is missing', () => {
    const text = Array.from({ length: 1_000 }, (_, index) => `line ${index}\n`).join('')
    const { text: bounded, omittedBytes } = boundText(text, 400)
    const [, head = '', omitted, lines, tail = ''] =
      /^([^]*\n)\[… (\d+) bytes, (\d+) lines left out …\]\n([^]*)$/.exec(bounded) ?? []
    expect(omittedBytes).toBe(Number(omitted))
    expect(head).toMatch(/^line 0\nline 1\n/)
    expect(tail).toMatch(/^line 9\d\d\n[^]*line 999\n$/)
    expect(Buffer.byteLength(head + tail)).toBe(Buffer.byteLength(text) - omittedBytes)
    expect(`${head}${tail}`.split('\n').length - 1).toBe(1_000 - Number(lines))
  })

  it('never takes more than it may, nor cuts a character', () => {
    const texts = fc
      .array(fc.constantFrom('a', '\n', 'é', '漢', '😀', 'word '), { maxLength: 400 })
      .map((parts) => parts.join(''))
    fc.assert(
      fc.property(texts, fc.integer({ min: 0, max: 700 }), (text, maxBytes) => {
        const bounded = boundText(text, maxBytes)
        expect(Buffer.byteLength(bounded.text)).toBeLessThanOrEqual(maxBytes)
        expect(bounded.text).not.toContain('\uFFFD')
        if (bounded.omittedBytes === 0) expect(bounded.text).toBe(text)
        else expect(Buffer.byteLength(text)).toBeGreaterThan(maxBytes)
      }),
      { seed, numRuns: 2_000 },
    )
  })
})
