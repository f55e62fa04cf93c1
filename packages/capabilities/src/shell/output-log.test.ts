import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { OutputLog, wholeCharacters } from './output-log.js'
import { redactContinued } from './redact-continued.js'

const seed = Number(process.env['COFFERDAM_SEED'] ?? Date.now() % 2 ** 31)
console.info(`output-log.test.ts: COFFERDAM_SEED=${seed}`)

const HEAD_BYTES = 128 * 1024
const TAIL_BYTES = 1024 * 1024

describe('OutputLog', () => {
  it('gives for every range what was written there, and nothing else', () => {
    const chunk = fc.nat({ max: 700_000 })
    const ranges = fc.array(fc.tuple(fc.nat({ max: 3_000_000 }), fc.nat({ max: 3_000_000 })), { maxLength: 5 })
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 8 }), ranges, (sizes, asked) => {
        const total = sizes.reduce((sum, size) => sum + size, 0)
        // Every byte tells where it is.
        const all = Buffer.alloc(total)
        for (let at = 0; at < total; at++) all[at] = (at * 31 + (at >> 8)) & 0xff
        const log = new OutputLog()
        let at = 0
        for (const size of sizes) log.add(all.subarray(at, (at += size)))
        expect(log.totalBytes).toBe(total)
        for (const [from, to] of [...asked, [0, total] as const]) {
          const pieces = log.read(from, to)
          expect(pieces.length).toBeLessThanOrEqual(2)
          for (const piece of pieces) {
            expect(piece.from).toBeGreaterThanOrEqual(from)
            expect(piece.from + piece.bytes.length).toBeLessThanOrEqual(Math.min(to, total))
            expect(piece.bytes.equals(all.subarray(piece.from, piece.from + piece.bytes.length))).toBe(true)
          }
        }
        const kept = log.read(0)
        const head = kept[0]?.bytes.length ?? 0
        expect(head).toBeGreaterThanOrEqual(Math.min(total, HEAD_BYTES))
        const tail = kept.at(-1)?.bytes.length ?? 0
        expect(tail).toBeGreaterThanOrEqual(Math.min(total, TAIL_BYTES))
      }),
      { seed, numRuns: 60 },
    )
  })

  it('holds no more than its bounds and one chunk, however the output comes', () => {
    const log = new OutputLog()
    const line = Buffer.alloc(100, 'x')
    for (let index = 0; index < 40_000; index++) log.add(line)
    log.add(Buffer.alloc(2 * TAIL_BYTES))
    log.add(line)
    const kept = log.read(0).reduce((sum, { bytes }) => sum + bytes.length, 0)
    expect(kept).toBeLessThanOrEqual(HEAD_BYTES + TAIL_BYTES + 2 * TAIL_BYTES + line.length)
    expect(log.totalBytes).toBe(4_000_100 + 2 * TAIL_BYTES)
  })
})

describe('wholeCharacters', () => {
  it('cuts before a character that is not complete, wherever it is cut', () => {
    const bytes = Buffer.from('aé漢😀b')
    for (let length = 0; length <= bytes.length; length++) {
      const whole = wholeCharacters(bytes.subarray(0, length))
      expect(bytes.toString('utf8', 0, whole)).not.toContain('\uFFFD')
      expect(length - whole).toBeLessThan(4)
      expect('aé漢😀b'.startsWith(bytes.toString('utf8', 0, whole))).toBe(true)
    }
    // What can never become a character is not waited for.
    expect(wholeCharacters(Buffer.from([0x61, 0x80, 0x80, 0x80, 0x80]))).toBe(5)
  })
})

describe('redactContinued', () => {
  const redact = (text: string): string => text.replaceAll('secret', '[redacted]')

  it('masks the end of what began before, and shows nothing twice', () => {
    expect(redactContinued('', 'a secret b', redact)).toBe('a [redacted] b')
    expect(redactContinued('a sec', 'ret b', redact)).toBe('[redacted] b')
    expect(redactContinued('secret', ' then secret', redact)).toBe(' then [redacted]')
    expect(redactContinued('plain ', 'text', redact)).toBe('text')
  })

  it('gives the same as masking all at once, where no secret is cut', () => {
    const words = fc.array(fc.constantFrom('secret', ' ', 's', 'x', '\n'), { maxLength: 20 })
    fc.assert(
      fc.property(words, words, (before, after) => {
        const [first, rest] = [before.join(''), after.join('')]
        fc.pre(redact(first + rest).startsWith(redact(first)))
        expect(redact(first) + redactContinued(first, rest, redact)).toBe(redact(first + rest))
      }),
      { seed, numRuns: 1_000 },
    )
  })
})
