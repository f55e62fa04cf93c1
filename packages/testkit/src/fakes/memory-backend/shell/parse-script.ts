import { ShellSyntaxError } from './syntax.js'
import type { Command, ListItem, Pipeline, Redirect, Script, Word } from './syntax.js'
import { WordParser } from './word-parser.js'

const RESERVED = new Set([
  'if',
  'then',
  'elif',
  'else',
  'fi',
  'while',
  'until',
  'for',
  'do',
  'done',
  'case',
  'esac',
  '{',
  '}',
  '!',
  'in',
])
const REDIRECT = /(\d*)(<<-?|>>|>\||<&|>&|<|>)/y
const ASSIGNMENT = /([A-Za-z_][A-Za-z0-9_]*)=/y
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/** Parses a script. Throws `ShellSyntaxError`. */
export function parseScript(text: string): Script {
  return new ScriptParser(text).parseAll()
}

/** Recursive descent over the characters; words, which may hold scripts themselves, are the superclass's. */
class ScriptParser extends WordParser {
  parseAll(): Script {
    const script = this.parseList()
    if (!this.atEnd) this.fail()
    return script
  }

  protected override parseNested(): Script {
    const script = this.parseList()
    if (!this.take(')')) this.fail()
    return script
  }

  parseList(): Script {
    const items: ListItem[] = []
    for (;;) {
      this.skipNewlines()
      if (this.atEnd || this.#atListEnd()) return items
      const first = this.#pipeline()
      const rest: { when: '&&' | '||'; pipeline: Pipeline }[] = []
      for (;;) {
        this.skipBlanks()
        const when = this.take('&&') ? '&&' : this.take('||') ? '||' : undefined
        if (when === undefined) break
        this.skipNewlines()
        rest.push({ when, pipeline: this.#pipeline() })
      }
      const background = !this.startsWith('&&') && this.take('&')
      items.push({ first, rest, background })
      if (!background && !this.startsWith(';;')) this.take(';')
    }
  }

  /** At something that closes the list around. */
  #atListEnd(): boolean {
    if (this.startsWith(')') || this.startsWith(';;')) return true
    const word = this.#peekReserved()
    return word !== undefined && ['then', 'elif', 'else', 'fi', 'do', 'done', 'esac', '}'].includes(word)
  }

  #pipeline(): Pipeline {
    this.skipBlanks()
    const negated = this.#takeReserved('!')
    const commands = [this.#command()]
    for (;;) {
      this.skipBlanks()
      if (this.startsWith('||') || !this.take('|')) return { negated, commands }
      this.skipNewlines()
      commands.push(this.#command())
    }
  }

  #command(): Command {
    this.skipBlanks()
    if (this.take('(')) return { kind: 'subshell', body: this.parseNested(), redirects: this.#redirects() }
    if (this.#takeReserved('{')) {
      const body = this.parseList()
      this.#expect('}')
      return { kind: 'group', body, redirects: this.#redirects() }
    }
    if (this.#takeReserved('if')) return this.#if()
    if (this.#takeReserved('while')) return this.#while(false)
    if (this.#takeReserved('until')) return this.#while(true)
    if (this.#takeReserved('for')) return this.#for()
    if (this.#takeReserved('case')) return this.#case()
    return this.#simple()
  }

  #if(): Command {
    const branches: { condition: Script; body: Script }[] = []
    let otherwise: Script = []
    do {
      const condition = this.parseList()
      this.#expect('then')
      branches.push({ condition, body: this.parseList() })
    } while (this.#takeReserved('elif'))
    if (this.#takeReserved('else')) otherwise = this.parseList()
    this.#expect('fi')
    return { kind: 'if', branches, otherwise, redirects: this.#redirects() }
  }

  #while(until: boolean): Command {
    const condition = this.parseList()
    this.#expect('do')
    const body = this.parseList()
    this.#expect('done')
    return { kind: 'while', until, condition, body, redirects: this.#redirects() }
  }

  #for(): Command {
    const name = this.#plainWord()
    if (!NAME.test(name)) this.fail()
    this.skipNewlines()
    let words: Word[] | null = null
    if (this.#takeReserved('in')) {
      words = []
      for (this.skipBlanks(); !this.atWordEnd(); this.skipBlanks()) words.push(this.parseWord())
    }
    this.skipBlanks()
    this.take(';')
    this.skipNewlines()
    this.#expect('do')
    const body = this.parseList()
    this.#expect('done')
    return { kind: 'for', name, words, body, redirects: this.#redirects() }
  }

  #case(): Command {
    this.skipBlanks()
    const subject = this.parseWord()
    this.skipNewlines()
    this.#expect('in')
    const branches: { patterns: Word[]; body: Script }[] = []
    for (this.skipNewlines(); !this.#takeReserved('esac'); this.skipNewlines()) {
      this.take('(')
      const patterns: Word[] = []
      do {
        this.skipBlanks()
        patterns.push(this.parseWord())
        this.skipBlanks()
      } while (this.take('|'))
      if (!this.take(')')) this.fail()
      branches.push({ patterns, body: this.parseList() })
      this.skipBlanks()
      this.take(';;')
    }
    return { kind: 'case', subject, branches, redirects: this.#redirects() }
  }

  #simple(): Command {
    const assignments: { name: string; value: Word }[] = []
    const words: Word[] = []
    const redirects: Redirect[] = []
    for (;;) {
      this.skipBlanks()
      const redirect = this.#redirect()
      if (redirect !== undefined) {
        redirects.push(redirect)
        continue
      }
      const assignment = words.length === 0 ? this.match(ASSIGNMENT) : undefined
      if (assignment !== undefined)
        assignments.push({ name: assignment[1]!, value: this.atWordEnd() ? [] : this.parseWord() })
      else if (this.atWordEnd()) break
      else words.push(this.parseWord())
    }
    if (assignments.length + words.length + redirects.length === 0) this.fail()
    return { kind: 'simple', assignments, words, redirects }
  }

  #redirects(): Redirect[] {
    const redirects: Redirect[] = []
    for (;;) {
      this.skipBlanks()
      const redirect = this.#redirect()
      if (redirect === undefined) return redirects
      redirects.push(redirect)
    }
  }

  #redirect(): Redirect | undefined {
    const match = this.match(REDIRECT)
    if (match === undefined) return undefined
    const sign = match[2]!
    const fd = match[1] === '' ? (sign.startsWith('<') ? 0 : 1) : Number(match[1])
    this.skipBlanks()
    if (sign.startsWith('<<')) {
      const redirect: Redirect = { fd, operator: '<<', target: [] }
      this.addHereDocument(redirect, sign === '<<-')
      return redirect
    }
    return { fd, operator: (sign === '>|' ? '>' : sign) as Redirect['operator'], target: this.parseWord() }
  }

  #plainWord(): string {
    this.skipBlanks()
    return this.parseWord()
      .map((part) => (part.kind === 'text' ? part.text : this.fail()))
      .join('')
  }

  #expect(word: string): void {
    this.skipNewlines()
    if (!this.#takeReserved(word)) throw new ShellSyntaxError(`syntax error: expected ${word}${this.where}`)
  }

  #peekReserved(): string | undefined {
    const word = /[A-Za-z]+|[{}!]/y
    const match = this.peek(word)
    return match !== undefined && RESERVED.has(match) && this.endsWordAfter(match.length) ? match : undefined
  }

  #takeReserved(word: string): boolean {
    this.skipBlanks()
    return this.#peekReserved() === word && this.take(word)
  }
}
