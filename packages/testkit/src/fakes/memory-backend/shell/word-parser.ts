import { ShellSyntaxError } from './syntax.js'
import type { Part, Redirect, Script, Word } from './syntax.js'

const BLANKS = /(?:[ \t]|\\\n)+/y
const COMMENT = /#[^\n]*/y
const PLAIN = /[^\s;&|()<>'"\\$`]+/y
const PARAMETER = /[A-Za-z_][A-Za-z0-9_]*|[0-9?$!#@*-]/y
const OPERATOR = /:-|:\+|:=|##|%%|[-+=#%]/y
const WORD_ENDS = ' \t\n;&|()<>'

/** Reads words: quotes, parameters, command substitution, arithmetic, here-documents. */
export abstract class WordParser {
  readonly #text: string
  #at = 0
  readonly #hereDocuments: { readonly redirect: Redirect; readonly end: Word; readonly stripTabs: boolean }[] = []

  constructor(text: string) {
    this.#text = text
  }

  /** A script up to the closing parenthesis, which is taken. */
  protected abstract parseNested(): Script

  protected get atEnd(): boolean {
    return this.#at >= this.#text.length
  }

  protected get where(): string {
    return this.atEnd ? ' at the end' : ` near ${JSON.stringify(this.#text.slice(this.#at, this.#at + 10))}`
  }

  protected fail(): never {
    throw new ShellSyntaxError(`syntax error${this.where}`)
  }

  protected startsWith(text: string): boolean {
    return this.#text.startsWith(text, this.#at)
  }

  protected take(text: string): boolean {
    if (!this.startsWith(text)) return false
    this.#at += text.length
    return true
  }

  protected match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at
    const match = pattern.exec(this.#text)
    if (match === null) return undefined
    this.#at = pattern.lastIndex
    return match
  }

  protected peek(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    return pattern.exec(this.#text)?.[0]
  }

  protected endsWordAfter(length: number): boolean {
    const next = this.#text[this.#at + length]
    return next === undefined || WORD_ENDS.includes(next)
  }

  protected atWordEnd(): boolean {
    return this.endsWordAfter(0)
  }

  protected skipBlanks(): void {
    this.match(BLANKS)
    if (this.startsWith('#')) this.match(COMMENT)
  }

  protected skipNewlines(): void {
    for (;;) {
      this.skipBlanks()
      if (!this.take('\n')) return
      this.#readHereDocuments()
    }
  }

  protected addHereDocument(redirect: Redirect, stripTabs: boolean): void {
    this.#hereDocuments.push({ redirect, end: this.parseWord(), stripTabs })
  }

  protected parseWord(): Word {
    const parts: Part[] = []
    while (!this.atWordEnd()) {
      const plain = this.match(PLAIN)
      if (plain !== undefined) parts.push({ kind: 'text', text: plain[0], quoted: false })
      else if (this.take("'")) parts.push(this.#singleQuoted())
      else if (this.take('"')) parts.push(...this.#doubleQuoted('"'))
      else if (this.take('\\')) parts.push(...this.#escaped())
      else parts.push(this.#substitution(false))
    }
    if (parts.length === 0) this.fail()
    return parts
  }

  #singleQuoted(): Part {
    const end = this.#text.indexOf("'", this.#at)
    if (end < 0) throw new ShellSyntaxError('syntax error: unterminated quoted string')
    const text = this.#text.slice(this.#at, end)
    this.#at = end + 1
    return { kind: 'text', text, quoted: true }
  }

  #escaped(): Part[] {
    const character = this.#next()
    return character === '\n' ? [] : [{ kind: 'text', text: character, quoted: true }]
  }

  /** Up to the closing quote; with an empty one, up to the end of the text. */
  #doubleQuoted(close: '"' | ''): Part[] {
    const parts: Part[] = [{ kind: 'text', text: '', quoted: true }]
    let text = ''
    const flush = (): void => {
      if (text !== '') parts.push({ kind: 'text', text, quoted: true })
      text = ''
    }
    for (;;) {
      if (close === '' ? this.atEnd : this.take(close)) break
      if (this.startsWith('$') || this.startsWith('`')) {
        flush()
        parts.push(this.#substitution(true))
        continue
      }
      const character = this.#next()
      if (character !== '\\') text += character
      else {
        const next = this.#next()
        if (next !== '\n') text += '$`"\\'.includes(next) && !(next === '"' && close === '') ? next : `\\${next}`
      }
    }
    flush()
    return parts
  }

  #substitution(quoted: boolean): Part {
    if (this.take('`')) return this.#backquoted(quoted)
    if (!this.take('$')) this.fail()
    if (this.startsWith('((')) {
      this.#at += 2
      return this.#arithmetic(quoted)
    }
    if (this.take('(')) return { kind: 'command', body: this.parseNested(), quoted }
    if (this.take('{')) return this.#braced(quoted)
    const name = this.match(PARAMETER)
    if (name === undefined) return { kind: 'text', text: '$', quoted }
    return { kind: 'parameter', name: name[0], operator: '', argument: [], quoted }
  }

  #backquoted(quoted: boolean): Part {
    let inner = ''
    while (!this.take('`')) {
      const character = this.#next()
      inner += character === '\\' && (this.startsWith('`') || this.startsWith('\\')) ? this.#next() : character
    }
    return { kind: 'command', body: this.nested(`${inner}\n)`).parseNested(), quoted }
  }

  #braced(quoted: boolean): Part {
    if (this.startsWith('#') && !this.startsWith('#}')) {
      this.#at++
      const name = this.match(PARAMETER) ?? this.fail()
      if (!this.take('}')) this.fail()
      return { kind: 'parameter', name: name[0], operator: 'length', argument: [], quoted }
    }
    const name = this.match(PARAMETER) ?? this.fail()
    const operator = (this.match(OPERATOR)?.[0] ?? '') as Extract<Part, { kind: 'parameter' }>['operator']
    const argument: Part[] = []
    while (!this.take('}')) {
      const plain = this.match(/[^}'"\\$`]+/y)
      if (plain !== undefined) argument.push({ kind: 'text', text: plain[0], quoted })
      else if (!quoted && this.take("'")) argument.push(this.#singleQuoted())
      else if (this.take('"')) argument.push(...this.#doubleQuoted('"'))
      else if (this.take('\\')) argument.push(...this.#escaped())
      else if (this.startsWith('$') || this.startsWith('`')) argument.push(this.#substitution(quoted))
      else argument.push({ kind: 'text', text: this.#next(), quoted })
    }
    return { kind: 'parameter', name: name[0], operator, argument, quoted }
  }

  #arithmetic(quoted: boolean): Part {
    const expression: Part[] = []
    for (let depth = 0; depth > 0 || !this.take('))');) {
      if (this.startsWith('$') || this.startsWith('`')) expression.push(this.#substitution(true))
      else {
        const character = this.#next()
        depth += character === '(' ? 1 : character === ')' ? -1 : 0
        expression.push({ kind: 'text', text: character, quoted: true })
      }
    }
    return { kind: 'arithmetic', expression, quoted }
  }

  #readHereDocuments(): void {
    for (const { redirect, end, stripTabs } of this.#hereDocuments.splice(0)) {
      const literal = end.some((part) => part.kind === 'text' && part.quoted)
      const last = end.map((part) => (part.kind === 'text' ? part.text : '')).join('')
      let body = ''
      while (!this.atEnd) {
        const newline = this.#text.indexOf('\n', this.#at)
        const raw = this.#text.slice(this.#at, newline < 0 ? undefined : newline)
        this.#at = newline < 0 ? this.#text.length : newline + 1
        const line = stripTabs ? raw.replace(/^\t+/, '') : raw
        if (line === last) break
        body += `${line}\n`
      }
      redirect.target = literal ? [{ kind: 'text', text: body, quoted: true }] : this.nested(body).#doubleQuoted('')
    }
  }

  private nested(text: string): WordParser {
    return new (this.constructor as new (text: string) => WordParser)(text)
  }

  #next(): string {
    if (this.atEnd) throw new ShellSyntaxError('syntax error: unexpected end of file')
    return this.#text[this.#at++]!
  }
}
