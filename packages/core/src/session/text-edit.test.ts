import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { applyTextEdit } from './text-edit.js'

it('makes no text that is too large to be held', () => {
  const edit = { oldText: 'a', newText: 'b'.repeat(1024), replaceAll: true }
  expect(() => applyTextEdit('a'.repeat(1024 * 1024), edit)).toThrow(/longer than/)
})

describe('an edit', () => {
  it.each([
    ['one line', 'a\nb\nc\n', { oldText: 'b', newText: 'x' }, 'a\nx\nc\n'],
    [
      'one line by two, with the line ends of the file',
      'a\r\nb\r\n',
      { oldText: 'a', newText: 'a\nx' },
      'a\r\nx\r\nb\r\n',
    ],
    [
      'lines written with other ends than the file has',
      'a\r\nb\r\nc',
      { oldText: 'a\nb', newText: 'x\ny' },
      'x\r\ny\r\nc',
    ],
    ['lines written with CRLF in a file without', 'a\nb\nc', { oldText: 'a\r\nb', newText: 'x\r\ny' }, 'x\ny\nc'],
    [
      'in a file of both, what is there by the letter',
      'a\nb\r\nc\n',
      { oldText: 'a\nb', newText: 'x\ny' },
      'x\ny\r\nc\n',
    ],
    [
      'in a file of both, else what is there with CRLF',
      'a\nb\r\nc\n',
      { oldText: 'b\nc', newText: 'x\ny' },
      'a\nx\r\ny\n',
    ],
    ['in a file of a single line as it is given', 'abc', { oldText: 'b', newText: '\r\n' }, 'a\r\nc'],
    ['after a byte order mark', '\ufeffa\nb', { oldText: 'a\nb', newText: 'c' }, '\ufeffc'],
    ['what looks like a replacement pattern', 'price', { oldText: 'price', newText: '$& $1' }, '$& $1'],
  ])('replaces %s', (_, content, edit, expected) => {
    expect(applyTextEdit(content, edit)).toEqual({ content: expected, replacements: 1 })
  })

  it('replaces all when asked to', () => {
    expect(applyTextEdit('a-a-a', { oldText: 'a', newText: 'aa', replaceAll: true })).toEqual({
      content: 'aa-aa-aa',
      replacements: 3,
    })
  })

  it.each([
    ['does not occur', 'abc', { oldText: 'x', newText: 'y' }, 'does not occur'],
    ['occurs twice', 'a b a', { oldText: 'a', newText: 'y' }, 'occurs 2 times'],
    ['occurs twice by overlapping', 'aaa', { oldText: 'aa', newText: 'b' }, 'occurs 2 times'],
    ['is empty', 'abc', { oldText: '', newText: 'y' }, 'is empty'],
    ['stays the same', 'abc', { oldText: 'a', newText: 'a' }, 'are equal'],
  ])('of text that %s is refused', (_, content, edit, reason) => {
    expect(() => applyTextEdit(content, edit)).toThrow(
      expect.objectContaining({ code: 'invalid_argument', message: expect.stringContaining(reason) as string }),
    )
  })

  it('leaves no other line end in a file than it had', () => {
    const line = fc.string({ unit: fc.constantFrom('a', 'b', ' '), maxLength: 4 })
    const lines = fc.array(line, { minLength: 2, maxLength: 6 })
    fc.assert(
      fc.property(lines, lines, lines, fc.constantFrom('\n', '\r\n'), (before, after, added, lineEnd) => {
        const content = [...before, 'THERE', ...after].join(lineEnd)
        const edited = applyTextEdit(content, { oldText: 'THERE', newText: added.join('\n') }).content
        expect(edited).toBe([...before, ...added, ...after].join(lineEnd))
      }),
    )
  })
})
