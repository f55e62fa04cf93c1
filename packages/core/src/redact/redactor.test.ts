import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createRedactor, REDACTED } from './redactor.js'

const secretText = fc
  .string({ unit: 'grapheme', minLength: 4, maxLength: 60 })
  .filter((text) => text.trim().length >= 4)
const encoder = new TextEncoder()

describe('createRedactor', () => {
  it.each<[form: string, (secret: string) => string]>([
    ['plain', (secret) => secret],
    ['base64', (secret) => Buffer.from(secret).toString('base64')],
    ['base64url', (secret) => Buffer.from(secret).toString('base64url')],
    ['hex', (secret) => Buffer.from(secret).toString('hex')],
    ['upper-case hex', (secret) => Buffer.from(secret).toString('hex').toUpperCase()],
    ['percent-encoded', (secret) => encodeURIComponent(secret)],
    [
      'percent-encoded in lower case',
      (secret) => encodeURIComponent(secret).replace(/%../g, (hex) => hex.toLowerCase()),
    ],
    ['form-encoded', (secret) => new URLSearchParams({ s: secret }).toString().slice(2)],
    ['a JSON string', (secret) => JSON.stringify(secret).slice(1, -1)],
    ['what a terminal prints', (secret) => secret.replaceAll('\n', '\r\n')],
  ])('masks a secret as %s', (_form, encode) => {
    const hold = fc.property(secretText, (secret) => {
      const redactor = createRedactor()
      redactor.add(secret)
      const redacted = redactor.redact(`<${encode(secret)}>`)
      expect(redacted).toBe(`<${REDACTED}>`)
    })
    fc.assert(hold, { examples: [['p&ss w/rd+!'], ['line one\nline two'], ['ключ-ключ'], ['~tilde~(paren)*']] })
  })

  it('masks a secret within base64 of something longer, at every alignment', () => {
    const bytes = fc.uint8Array({ maxLength: 7 })
    const hold = fc.property(secretText, bytes, bytes, (secret, before, after) => {
      const redactor = createRedactor()
      redactor.add(secret)
      const redacted = redactor.redact(Buffer.concat([before, Buffer.from(secret), after]).toString('base64'))
      // What is left of the secret's own bits: at most one character on either side.
      const around = 4 * Math.ceil((before.length + 3) / 3) + 4 * Math.ceil((after.length + 3) / 3) + 2
      expect(redacted).toContain(REDACTED)
      expect(redacted.length - REDACTED.length).toBeLessThanOrEqual(around)
    })
    fc.assert(hold)
  })

  it('masks bytes in chunks just as it masks them whole', async () => {
    const piece = fc.oneof(
      fc.constantFrom('topsecret', 'secretary', 'toptop', 'tops', 'ecret'),
      fc.string({ maxLength: 4 }),
    )
    const hold = fc.asyncProperty(fc.array(piece), fc.array(fc.nat({ max: 9 })), async (pieces, cuts) => {
      const redactor = createRedactor()
      redactor.add('topsecret')
      redactor.add('secretary')
      redactor.add('toptop')
      const bytes = encoder.encode(pieces.join(''))
      const streamed = await throughStream(redactor.redactStream(), cutUp(bytes, cuts))
      expect(streamed).toBe(Buffer.from(redactor.redactBytes(bytes)).toString())
      expect(streamed).toBe(redactor.redact(pieces.join('')))
    })
    await fc.assert(hold)
  })

  it('lets everything else through to the byte', async () => {
    const hold = fc.asyncProperty(
      fc.uint8Array({ maxLength: 300 }),
      fc.array(fc.nat({ max: 50 })),
      async (bytes, cuts) => {
        const redactor = createRedactor()
        redactor.add('a secret that is not in there')
        expect(Buffer.from(redactor.redactBytes(bytes)).equals(bytes)).toBe(true)
        const out: Uint8Array[] = []
        for await (const part of source(cutUp(bytes, cuts)).pipeThrough(redactor.redactStream())) out.push(part)
        expect(Buffer.concat(out).equals(bytes)).toBe(true)
      },
    )
    await fc.assert(hold)
  })

  it('masks each line of a secret of several lines, but those that are the same in all of its kind', () => {
    const redactor = createRedactor()
    const lines = ['MIIEvQIBADANBgkqhkiG9w0B', 'AQEFAASCBKcwggSjAgEAAoIB', 'short==']
    redactor.add(`-----BEGIN PRIVATE KEY-----\r\n${lines.join('\n  ')}\n-----END PRIVATE KEY-----\n`)
    expect(redactor.redact(`<${lines[1]}>`)).toBe(`<${REDACTED}>`)
    expect(redactor.redact(`<${Buffer.from(lines[0]!).toString('hex')}>`)).toBe(`<${REDACTED}>`)
    for (const known of ['-----BEGIN PRIVATE KEY-----', '-----END PRIVATE KEY-----', 'short==']) {
      expect(redactor.redact(known)).toBe(known)
    }
  })

  it('holds back only what may become a secret', async () => {
    const redactor = createRedactor()
    redactor.add('topsecret')
    const stream = redactor.redactStream()
    const writer = stream.writable.getWriter()
    const reader = stream.readable.getReader()
    const read = async (): Promise<string> => Buffer.from((await reader.read()).value ?? []).toString()
    const first = read()
    await writer.write(encoder.encode('a line\ntop'))
    expect(await first).toBe('a line\n')
    const second = read()
    await writer.write(encoder.encode(' of the hill'))
    expect(await second).toBe('top of the hill')
    await Promise.all([writer.close(), read()])
  })

  it('masks one stretch of overlapping secrets once', () => {
    const redactor = createRedactor()
    redactor.add('abcdef')
    redactor.add('defghi')
    redactor.add('cdef')
    expect(redactor.redact('<abcdefghi> <cdef>')).toBe(`<${REDACTED}> <${REDACTED}>`)
  })

  it('masks texts and keys deep in JSON, and nothing but them', () => {
    const redactor = createRedactor()
    redactor.add('hunter22')
    const value = { 'key hunter22': [{ deep: 'x hunter22 y' }], count: 22, none: null, yes: true }
    expect(redactor.redactJson(value)).toEqual({
      [`key ${REDACTED}`]: [{ deep: `x ${REDACTED} y` }],
      count: 22,
      none: null,
      yes: true,
    })
  })

  it('knows a secret from the moment it is added, also in a stream that runs', async () => {
    const redactor = createRedactor()
    redactor.add('first-one')
    const stream = redactor.redactStream()
    const collected = collect(stream.readable)
    const writer = stream.writable.getWriter()
    await writer.write(encoder.encode('second-one second-'))
    redactor.add('second-one')
    await writer.write(encoder.encode('half; second-one first-one'))
    await writer.close()
    expect(await collected).toBe(`second-one second-half; ${REDACTED} ${REDACTED}`)
  })

  it('says that it does not mask what is too short to be kept apart from ordinary text', () => {
    const redactor = createRedactor()
    expect(redactor.add('abc')).toBe(false)
    expect(redactor.redact('abc')).toBe('abc')
    expect(redactor.add('abcd')).toBe(true)
  })

  it('takes time that grows with the text only, also where the text repeats a secret’s beginning', () => {
    const redactor = createRedactor()
    for (let i = 0; i < 100; i++) redactor.add(`${'a'.repeat(200)}${i}!`)
    const started = performance.now()
    expect(redactor.redact('a'.repeat(1_000_000))).toHaveLength(1_000_000)
    expect(performance.now() - started).toBeLessThan(5000)
  })
})

function cutUp(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const parts: Uint8Array[] = []
  let at = 0
  for (const length of cuts) {
    parts.push(bytes.subarray(at, at + length))
    at += length
  }
  return [...parts, bytes.subarray(at)]
}

function source(parts: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
}

async function throughStream(
  stream: TransformStream<Uint8Array, Uint8Array>,
  parts: readonly Uint8Array[],
): Promise<string> {
  return collect(source(parts).pipeThrough(stream))
}

async function collect(readable: ReadableStream<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = []
  for await (const part of readable) parts.push(part)
  return Buffer.concat(parts).toString()
}
