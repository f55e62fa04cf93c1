import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { SANDBOX_ERROR_CODES, SandboxError } from '@cofferdam/core'
import type { SandboxErrorCode } from '@cofferdam/core'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

interface Row {
  readonly meaning: string
  readonly details: readonly string[]
}

/** What the source says: each code's comment, and the members of its details as written. */
function rowsOfSource(): Map<string, Row> {
  const source = read('packages/core/src/errors/error-details.ts')
  const [, table = ''] = /export interface SandboxErrorDetails \{\n([^]*?)\n\}/.exec(source) ?? []
  const rows = table.matchAll(/^ {2}\/\*\* (.+) \*\/\n {2}(\w+): (\{\n[^}]*\}|.+)$/gm)
  return new Map(
    [...rows].map(([, meaning = '', code = '', type = '']) => [code, { meaning, details: membersOf(type) }]),
  )
}

function membersOf(type: string): string[] {
  const [, members] = /^\{\s+([^]*?)\s+\}$/.exec(type) ?? []
  return members === undefined ? [] : members.split(/; |\n\s*/)
}

interface Section extends Row {
  readonly when: string
  readonly retryable: string
  readonly advice: string
}

/** What the document says: a heading, the meaning, and four items. */
function sectionsOfDocument(): Map<string, Section> {
  const [, ...sections] = read('docs/errors.md').split(/^### /m)
  return new Map(sections.map((section) => [/^`(\w+)`\n/.exec(section)?.[1] ?? section, sectionOf(section)]))
}

function sectionOf(section: string): Section {
  const item = (name: string): string => new RegExp(`^- ${name}: (.+)$`, 'm').exec(section)?.[1] ?? ''
  return {
    meaning: section.split('\n\n')[1] ?? '',
    when: item('When'),
    details: [...item('Details').matchAll(/`([^`]+)`/g)].map(([, member = '']) => member),
    retryable: item('Retryable'),
    advice: item('What to do'),
  }
}

const source = rowsOfSource()
const document = sectionsOfDocument()

describe('the table of errors', () => {
  it('has the same codes in the source, at run time and in the document', () => {
    const codes = [...SANDBOX_ERROR_CODES].sort()
    expect([...source.keys()].sort()).toEqual(codes)
    expect([...document.keys()].sort()).toEqual(codes)
    expect(read('docs/errors.md').match(/^### /gm)).toHaveLength(codes.length)
  })

  it.each([...source])('says the same of %s', (code, { meaning, details }) => {
    const section = document.get(code)
    expect({ meaning: section?.meaning, details: section?.details }).toEqual({ meaning, details })
    const { retryable } = new SandboxError(code as SandboxErrorCode, '', {} as never)
    expect(section?.retryable).toBe(retryable ? 'yes' : 'no')
    expect(section?.when).toMatch(/\.$/)
    expect(section?.advice).toMatch(/\.$/)
  })
})
