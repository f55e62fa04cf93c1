import { comparePaths, decodePath } from '@cofferdam/core/path'
import type { MemoryProcess } from '../process/memory-process.js'
import type { DirNode } from '../tree/nodes.js'
import { evaluateArithmetic } from './evaluate-arithmetic.js'
import { hasPattern, patternToRegExp } from './match-pattern.js'
import type { PatternCharacter } from './match-pattern.js'
import type { Part, Script, Word } from './syntax.js'

/** What expansion needs of the shell. */
export interface ExpansionContext {
  readonly process: MemoryProcess
  readonly parameters: readonly string[]
  getVariable(name: string): string | undefined
  setVariable(name: string, value: string): void
  /** Output of a command substitution. */
  capture(body: Script): Promise<Uint8Array>
}

type Segment = { readonly text: string; readonly quoted: boolean }
type Field = Segment[]

/** Fields that a list of words becomes: parameters, commands, splitting, file names. */
export async function expandWords(words: readonly Word[], context: ExpansionContext): Promise<string[]> {
  const result: string[] = []
  for (const word of words) {
    for (const field of await splitWord(word, context)) result.push(...matchNames(field, context.process))
  }
  return result
}

/** One string: no splitting, no file names. For assignments, redirections and here-documents. */
export async function expandText(word: Word, context: ExpansionContext): Promise<string> {
  let text = ''
  for (const part of word) text += part.kind === 'text' ? part.text : await expandPart(part, context)
  return text
}

/** As {@link expandText}, with what was quoted kept apart: a pattern of `case`. */
export async function expandPattern(word: Word, context: ExpansionContext): Promise<RegExp> {
  const field: Field = []
  for (const part of word) {
    field.push({ text: part.kind === 'text' ? part.text : await expandPart(part, context), quoted: part.quoted })
  }
  return patternToRegExp(characters(field))
}

async function splitWord(word: Word, context: ExpansionContext): Promise<Field[]> {
  const fields: Field[] = []
  let field: Field | undefined
  for (const part of word) {
    if (part.kind === 'text') {
      field ??= []
      field.push(part)
      continue
    }
    if (part.kind === 'parameter' && part.name === '@' && part.quoted && part.operator === '') {
      const [first, ...more] = context.parameters
      if (first === undefined) continue
      field = [...(field ?? []), { text: first, quoted: true }]
      for (const text of more) {
        fields.push(field)
        field = [{ text, quoted: true }]
      }
      continue
    }
    const text = await expandPart(part, context)
    if (part.quoted) {
      field ??= []
      field.push({ text, quoted: true })
      continue
    }
    const pieces = text.split(/[ \t\n]+/)
    pieces.forEach((piece, index) => {
      if (index > 0 && field !== undefined) {
        fields.push(field)
        field = undefined
      }
      if (piece !== '') (field ??= []).push({ text: piece, quoted: false })
    })
  }
  if (field !== undefined) fields.push(field)
  return fields.filter((each) => each.some((segment) => segment.quoted || segment.text !== ''))
}

async function expandPart(part: Exclude<Part, { kind: 'text' }>, context: ExpansionContext): Promise<string> {
  if (part.kind === 'command') return decodePath(await context.capture(part.body)).replace(/\n+$/, '')
  if (part.kind === 'arithmetic') {
    const text = await expandText(part.expression, context)
    return String(evaluateArithmetic(text, (name) => context.getVariable(name) ?? ''))
  }
  return expandParameter(part, context)
}

async function expandParameter(part: Extract<Part, { kind: 'parameter' }>, context: ExpansionContext): Promise<string> {
  const { operator } = part
  const value = context.getVariable(part.name)
  const argument = (): Promise<string> => expandText(part.argument, context)
  if (operator === 'length') return String([...(value ?? '')].length)
  const missing = operator.startsWith(':') ? value === undefined || value === '' : value === undefined
  switch (operator.replace(':', '')) {
    case '-':
      return missing ? argument() : value!
    case '+':
      return missing ? '' : argument()
    case '=':
      if (missing) context.setVariable(part.name, await argument())
      return context.getVariable(part.name) ?? ''
    case '#':
    case '##':
    case '%':
    case '%%':
      return trimmed(value ?? '', operator, await expandPattern(part.argument, context))
    default:
      return value ?? ''
  }
}

/** Without the shortest (`#`, `%`) or longest (`##`, `%%`) beginning or end that matches. */
function trimmed(value: string, operator: string, pattern: RegExp): string {
  const fromStart = operator.startsWith('#')
  const longest = operator.length === 2
  for (let i = 0; i <= value.length; i++) {
    const length = longest ? value.length - i : i
    const piece = fromStart ? value.slice(0, length) : value.slice(value.length - length)
    if (pattern.test(piece)) return fromStart ? value.slice(length) : value.slice(0, value.length - length)
  }
  return value
}

function matchNames(field: Field, process: MemoryProcess): string[] {
  const pattern = characters(field)
  const text = field.map((segment) => segment.text).join('')
  if (!hasPattern(pattern)) return [text]
  const found = matchBeneath(pattern, process)
  return found.length === 0 ? [text] : found
}

function matchBeneath(pattern: readonly PatternCharacter[], process: MemoryProcess): string[] {
  const absolute = pattern[0]?.character === '/'
  let found = [absolute ? '/' : '']
  for (const component of splitAtSlashes(pattern)) {
    const literal = component.map(({ character }) => character).join('')
    const next: string[] = []
    for (const prefix of found) {
      for (const name of hasPattern(component) ? namesIn(prefix, process, component) : [literal]) {
        const path = `${prefix}${prefix === '' || prefix.endsWith('/') ? '' : '/'}${name}`
        if (lookUp(path, process) !== undefined) next.push(path)
      }
    }
    found = next
  }
  return found
}

function namesIn(path: string, process: MemoryProcess, component: readonly PatternCharacter[]): string[] {
  const directory = path === '' ? process.directory : lookUp(path, process)
  if (directory?.type !== 'directory') return []
  const expression = patternToRegExp(component)
  const hidden = component[0]?.character === '.'
  return [...directory.entries.keys()]
    .filter((name) => expression.test(name) && (hidden || !name.startsWith('.')))
    .sort(comparePaths)
}

function lookUp(path: string, process: MemoryProcess): DirNode | { readonly type: 'file' | 'symlink' } | undefined {
  try {
    return process.tree.walk(path, { from: process.directory, follow: false }).node
  } catch {
    return undefined
  }
}

function splitAtSlashes(pattern: readonly PatternCharacter[]): PatternCharacter[][] {
  const components: PatternCharacter[][] = [[]]
  for (const each of pattern) {
    if (each.character === '/') components.push([])
    else components[components.length - 1]!.push(each)
  }
  return components.filter((component) => component.length > 0)
}

function characters(field: Field): PatternCharacter[] {
  return field.flatMap(({ text, quoted }) =>
    Array.from({ length: text.length }, (_, i) => ({ character: text[i]!, quoted })),
  )
}
