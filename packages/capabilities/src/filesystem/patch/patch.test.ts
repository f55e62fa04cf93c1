import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { applyHunks } from './apply-hunks.js'
import { parsePatch } from './parse-patch.js'
import { isProblem } from './patch.js'
import type { PatchProblem } from './patch.js'

const seed = Number(process.env.COFFERDAM_SEED ?? Date.now() % 2 ** 31)
console.info(`patch.test.ts: COFFERDAM_SEED=${seed}`)

const wrap = (...lines: string[]): string =>
  `*** Begin Patch\n${lines.map((line) => `${line}\n`).join('')}*** End Patch`

/** Applies the one update section that `lines` are the body of. */
function patched(text: string, ...lines: string[]): string | PatchProblem {
  const sections = parsePatch(wrap('*** Update File: a', ...lines))
  if (isProblem(sections)) return sections
  const [section] = sections
  if (sections.length !== 1 || section?.kind !== 'update') return expect.unreachable()
  const result = applyHunks(text, section.hunks)
  return isProblem(result) ? result : result.text
}

describe('parsing', () => {
  it('reads every kind of section', () => {
    const text = wrap(
      '*** Add File: new/file.txt',
      '+one',
      '+',
      '+ *** three',
      '*** Delete File: old.txt',
      '*** Update File: from.txt',
      '*** Move to: to.txt',
      '@@ class A',
      '@@   run() {',
      ' kept',
      '-gone',
      '+come',
      '*** End of File',
      '*** Update File: only moved',
      '*** Move to: moved',
      '*** Add File: empty',
    )
    expect(parsePatch(`\n${text}\n\n`)).toEqual([
      { kind: 'add', path: 'new/file.txt', line: 3, text: 'one\n\n *** three\n' },
      { kind: 'delete', path: 'old.txt', line: 7 },
      {
        kind: 'update',
        path: 'from.txt',
        line: 8,
        moveTo: 'to.txt',
        hunks: [
          {
            line: 10,
            anchors: ['class A', '  run() {'],
            endOfFile: true,
            lines: [
              { mark: ' ', text: 'kept' },
              { mark: '-', text: 'gone' },
              { mark: '+', text: 'come' },
            ],
          },
        ],
      },
      { kind: 'update', path: 'only moved', line: 16, moveTo: 'moved', hunks: [] },
      { kind: 'add', path: 'empty', line: 18, text: '' },
    ])
  })

  it('reads a patch that came with CRLF, and keeps the CR of lines that were meant to have one', () => {
    const lines = ['*** Add File: a', '+x', '+y']
    expect(parsePatch(wrap(...lines).replaceAll('\n', '\r\n'))).toMatchObject([{ path: 'a', text: 'x\ny\n' }])
    expect(parsePatch(wrap('*** Add File: a', '+x\r', '+y\r'))).toMatchObject([{ text: 'x\r\ny\r\n' }])
  })

  const refused: ReadonlyArray<readonly [what: string, text: string, line: number, says: RegExp]> = [
    ['nothing', '', 1, /Begin Patch/],
    ['other text', 'diff --git a/x b/x', 1, /Begin Patch/],
    ['text before', 'Here it is:\n*** Begin Patch', 1, /Begin Patch/],
    ['an indented beginning', ' *** Begin Patch\n*** End Patch', 1, /Begin Patch/],
    ['no sections', '*** Begin Patch\n*** End Patch', 2, /no sections/],
    ['no end', '*** Begin Patch\n*** Delete File: a', 3, /End Patch/],
    ['no end after a hunk', '*** Begin Patch\n*** Update File: a\n-x', 4, /End Patch/],
    ['text after', `${wrap('*** Delete File: a')}\nDone.`, 4, /nothing may follow/],
    ['two patches', `${wrap('*** Delete File: a')}\n${wrap('*** Delete File: b')}`, 4, /nothing may follow/],
    ['an unknown section', wrap('*** Rename File: a'), 2, /expected '\*\*\* Add File/],
    ['a move on its own', wrap('*** Move to: a'), 2, /directly follow/],
    ['a move after a hunk', wrap('*** Update File: a', '+x', '*** Move to: b'), 4, /directly follow/],
    ['no path to add', wrap('*** Add File:', '+x'), 2, /path must follow/],
    ['no path to move to', wrap('*** Update File: a', '*** Move to:  ', '+x'), 3, /path must follow/],
    ['an added line without a plus', wrap('*** Add File: a', '+x', 'y'), 4, /must begin with '\+'/],
    ['an added empty line without a plus', wrap('*** Add File: a', '+x', '', '+y'), 4, /must begin with '\+'/],
    ['lines after a deletion', wrap('*** Delete File: a', '-x'), 3, /nothing may follow/],
    ['an update without hunks', wrap('*** Update File: a'), 2, /changes nothing/],
    ['a hunk of context alone', wrap('*** Update File: a', '@@', ' x'), 3, /no line with/],
    ['a hunk without lines', wrap('*** Update File: a', '@@ x', '@@ y'), 3, /no line with/],
    ['an unmarked line', wrap('*** Update File: a', '@@', ' x', 'y', '+z'), 5, /must begin with/],
    ['a note on the last line end', wrap('*** Update File: a', '+x', '\\ No newline at end of file'), 4, /must begin/],
    ['line numbers', wrap('*** Update File: a', '@@ -1,2 +1,3 @@', '+x'), 3, /line numbers/],
    ['an anchor without a space', wrap('*** Update File: a', '@@x', '+x'), 3, /space must follow/],
    ['lines after the end of the file', wrap('*** Update File: a', '+x', '*** End of File', ' y'), 5, /'@@' before/],
  ]
  it.each(refused)('refuses %s', (_what, text, line, says) => {
    expect(parsePatch(text)).toEqual({ line, problem: expect.stringMatching(says) as string })
  })
})

it('refuses more hunks than can be looked for in good time', () => {
  const many = Array.from({ length: 1_001 }, () => ['@@', '-a', '+b']).flat()
  const anchored = [...Array.from({ length: 1_001 }, () => '@@ x'), '-a', '+b']
  for (const hunks of [many, anchored])
    expect(parsePatch(wrap('*** Update File: a', ...hunks))).toMatchObject({
      problem: expect.stringMatching(/1000 hunks/) as string,
    })
})

describe('applying', () => {
  const applied: ReadonlyArray<readonly [what: string, before: string, body: readonly string[], after: string]> = [
    ['a replaced line', 'a\nb\nc\n', [' a', '-b', '+B', ' c'], 'a\nB\nc\n'],
    ['a hunk without @@', 'a\nb\n', ['-a', '+A'], 'A\nb\n'],
    ['an insertion between', 'a\nc\n', ['@@', ' a', '+b', ' c'], 'a\nb\nc\n'],
    ['an insertion at the top', 'b\n', ['@@', '+a', ' b'], 'a\nb\n'],
    ['an insertion at the end', 'a\n', ['@@', '+b'], 'a\nb\n'],
    ['an insertion after an anchor', 'a\nb\nc\n', ['@@ b', '+x'], 'a\nb\nx\nc\n'],
    ['an insertion into nothing', '', ['@@', '+a'], 'a\n'],
    ['a removal of everything', 'a\nb\n', ['-a', '-b'], ''],
    ['two hunks', 'a\nb\nc\nd\n', ['@@', '-a', '+A', '@@', '-d', '+D'], 'A\nb\nc\nD\n'],
    ['two hunks that touch', 'a\nb\n', ['@@', '-a', '+A', '@@', '-b', '+B'], 'A\nB\n'],
    ['the first of equal places', 'x\na\nx\na\n', ['-x', '+y', ' a'], 'y\na\nx\na\n'],
    ['the place after the anchor', 'x\nf\nx\n', ['@@ f', '-x', '+y'], 'x\nf\ny\n'],
    [
      'stacked anchors',
      'class A\n  run\n    x\nclass B\n  stop\n    x\n  run\n    x\n',
      ['@@ class B', '@@   run', '-    x', '+    y'],
      'class A\n  run\n    x\nclass B\n  stop\n    x\n  run\n    y\n',
    ],
    ['an anchor repeated as context', 'f\nx\n', ['@@ f', ' f', '-x', '+y'], 'f\ny\n'],
    ['an anchor still in force', 'c\na\nb\n', ['@@ c', '-a', '+A', '@@ c', '-b', '+B'], 'c\nA\nB\n'],
    ['the end of the file, not an earlier place', 'a\nb\na\n', ['-a', '+z', '*** End of File'], 'a\nb\nz\n'],
    ['an insertion at the end of the file', 'a\nb\n', ['@@ a', '+z', '*** End of File'], 'a\nb\nz\n'],
    ['white space at the end of the line', 'a  \nb\n', [' a', '-b', '+B'], 'a  \nB\n'],
    ['another indentation', '\ta\n\tb\n', [' a', '-b', '+B'], '\ta\nB\n'],
    ['typographic punctuation', 'say “hi” – it’s…\nb\n', [' say "hi" - it\'s...', '-b', '+B'], 'say “hi” – it’s…\nB\n'],
    ['an exact place rather than an earlier lax one', ' a\na\n', ['-a', '+b'], ' a\nb\n'],
    ['a blank context line that lost its space', 'a\n\nb\n', [' a', '', '-b', '+B'], 'a\n\nB\n'],
    ['a blank line before the next hunk', 'a\nb\n', ['-a', '+A', '', '@@', '-b', '+B'], 'A\nB\n'],
    ['CRLF', 'a\r\nb\r\n', [' a', '-b', '+B', '+C'], 'a\r\nB\r\nC\r\n'],
    ['CRLF with CR in the patch', 'a\r\nb\r\n', [' a\r', '-b\r', '+B\r'], 'a\r\nB\r\n'],
    ['mixed line ends', 'a\nb\r\nc\r\n', [' a', '-b', '+B'], 'a\nB\r\nc\r\n'],
    ['a byte order mark', '\uFEFFa\nb\n', ['-a', '+A'], '\uFEFFA\nb\n'],
    ['a last line without end', 'a\nb', ['-b', '+B'], 'a\nB'],
    ['lines after a last line without end', 'a\nb', [' b', '+c'], 'a\nb\nc'],
    ['a lone CR within a line', 'a\rb\nc\n', ['-c', '+C'], 'a\rb\nC\n'],
    [
      'lines that look like marks',
      '*** End Patch\n@@ x\n',
      [' *** End Patch', '-@@ x', '+@@ y'],
      '*** End Patch\n@@ y\n',
    ],
  ]
  it.each(applied)('finds %s', (_what, before, body, after) => {
    expect(patched(before, ...body)).toBe(after)
  })

  const unapplied: ReadonlyArray<readonly [string, before: string, body: readonly string[], line: number, RegExp]> = [
    [
      'a line that is not there',
      'a\nb\n',
      ['@@', ' a', '-x', '+y'],
      3,
      /1 of 2 agree at line 1; the next, "x", does not/,
    ],
    ['nothing that is there', 'a\n', ['-x', '+y'], 3, /"x" on are not in the file; read it again/],
    ['a missing anchor', 'a\n', ['@@ f', '-a', '+b'], 3, /anchor "f" is not in the file/],
    [
      'an inner anchor that is only before',
      'g\nf\na\n',
      ['@@ f', '@@ g', '-a'],
      3,
      /"g" is not in the file after line 2/,
    ],
    ['lines before the anchor', 'a\nf\n', ['@@ f', '-a'], 3, /line 1 of the file, before the anchor/],
    ['hunks out of order', 'a\nb\n', ['@@', '-b', '@@', '-a'], 5, /put hunks in order/],
    ['the same lines twice', 'a\n', ['@@', '-a', '@@', '-a'], 5, /put hunks in order/],
    ['lines that are not last', 'a\nb\n', ['-a', '*** End of File'], 3, /line 1 of the file, not at its end/],
    ['an insertion behind its anchor', 'f\na\n', ['@@', '-a', '@@ f', '+x'], 5, /anchor stands before/],
    ['anything in an empty file', '', ['-a'], 3, /not in the file/],
  ]
  it.each(unapplied)('does not find %s', (_what, before, body, line, says) => {
    expect(patched(before, ...body)).toEqual({ line, problem: expect.stringMatching(says) as string })
  })

  it('takes time linear in a file of equal lines', () => {
    const before = 'x\n'.repeat(100_000)
    const body = [...Array.from({ length: 50_000 }, () => ' x'), '-y']
    const started = performance.now()
    const sections = parsePatch(`*** Begin Patch\n*** Update File: a\n${body.join('\n')}\n*** End Patch`)
    if (isProblem(sections) || sections[0]?.kind !== 'update') return expect.unreachable()
    expect(applyHunks(before, sections[0].hunks)).toMatchObject({ line: 3 })
    // Its square would be minutes.
    expect(performance.now() - started).toBeLessThan(10_000)
  })
})

const lineText = fc
  .string({ unit: fc.constantFrom(...'ab @*+-\t“\r…é'), maxLength: 6 })
  .filter((text) => !text.endsWith('\r'))

/** A file as kept, added and removed lines, from which the text before, the text after and a patch follow. */
const edits = fc.array(fc.record({ mark: fc.constantFrom(' ', ' ', '-', '+'), text: lineText }), { maxLength: 30 })

describe('properties', () => {
  const parameters = { seed, numRuns: 1_000 }

  it('a patch made from an edit gives the edited text', () => {
    fc.assert(
      fc.property(edits, fc.constantFrom('\n', '\r\n'), fc.boolean(), (lines, end, marked) => {
        fc.pre(lines.some(({ mark }) => mark !== ' ') && lines.some(({ mark }) => mark !== '+'))
        const text = (gone: string): string =>
          (marked ? '\uFEFF' : '') + lines.flatMap(({ mark, text }) => (mark === gone ? [] : [text + end])).join('')
        const body = ['@@', ...lines.map(({ mark, text }) => mark + text), '*** End of File']
        expect(patched(text('+'), ...body)).toBe(text('-'))
      }),
      parameters,
    )
  })

  it('so does one of many small hunks where lines can be told apart', () => {
    const cuts = fc.array(fc.boolean(), { minLength: 30, maxLength: 30 })
    fc.assert(
      fc.property(edits, cuts, (lines, cut) => {
        const all = [
          { mark: ' ', text: 'top' },
          ...lines.map(({ mark, text }, index) => ({ mark, text: `${index}:${text}` })),
        ]
        // A hunk begins with a line of the file: what it adds needs something to stand at.
        const pieces: Array<typeof all> = []
        for (const [index, line] of all.entries()) {
          if (index === 0 || (cut[index - 1] === true && line.mark !== '+')) pieces.push([])
          pieces.at(-1)!.push(line)
        }
        const hunks = pieces.filter((piece) => piece.some(({ mark }) => mark !== ' '))
        fc.pre(hunks.length > 0)
        const body = hunks.flatMap((piece) => ['@@', ...piece.map(({ mark, text }) => mark + text)])
        const text = (gone: string): string =>
          all.flatMap((line) => (line.mark === gone ? [] : [`${line.text}\n`])).join('')
        expect(patched(text('+'), ...body)).toBe(text('-'))
      }),
      parameters,
    )
  })

  it('nothing that is read or applied throws, whatever it is', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '*** Begin Patch',
        '*** End Patch',
        '*** Add File: a',
        '*** Update File: a',
        '*** Delete File: a',
      ),
      fc.constantFrom('*** Move to: b', '*** End of File', '@@', '@@ a', ' a', '-a', '+a', '', '\r', '***', '*** '),
      fc.string({ maxLength: 12 }),
      fc.string({ unit: 'binary', maxLength: 12 }),
    )
    const texts = fc.oneof(
      fc.array(piece, { maxLength: 20 }).map((lines) => lines.join('\n')),
      fc.array(piece, { maxLength: 20 }).map((lines) => wrap('*** Update File: a', ...lines)),
      // Mostly readable, so that applying is tried as often as reading.
      fc
        .array(fc.constantFrom('@@\n+x', '@@ a\n-a', ' a', '-a', '+b', '', ' '), { maxLength: 12 })
        .map((lines) => wrap('*** Update File: a', ...lines)),
    )
    let read = 0
    fc.assert(
      fc.property(
        texts,
        fc.string({ unit: fc.constantFrom('a', '\n', '\r', ' ', '\uFEFF'), maxLength: 30 }),
        (text, file) => {
          const sections = parsePatch(text)
          if (isProblem(sections)) {
            expect(sections.line).toBeGreaterThan(0)
            expect(sections.line).toBeLessThanOrEqual(text.split('\n').length + 1)
            return
          }
          read++
          for (const section of sections) {
            if (section.kind !== 'update') continue
            const result = applyHunks(file, section.hunks)
            if (isProblem(result)) expect(result.line).toBeGreaterThan(section.line)
            else expect(typeof result.text).toBe('string')
          }
        },
      ),
      { seed, numRuns: 10_000 },
    )
    expect(read).toBeGreaterThan(1_000)
  })
})
