import { ShellSyntaxError } from './syntax.js'

const TOKEN = /\s*(\d+|[A-Za-z_][A-Za-z0-9_]*|<=|>=|==|!=|&&|\|\||[-+*/%()<>!])/y

const LEVELS: readonly (readonly string[])[] = [
  ['||'],
  ['&&'],
  ['==', '!='],
  ['<', '<=', '>', '>='],
  ['+', '-'],
  ['*', '/', '%'],
]

const OPERATIONS: Readonly<Record<string, (a: number, b: number) => number>> = {
  '||': (a, b) => Number(a !== 0 || b !== 0),
  '&&': (a, b) => Number(a !== 0 && b !== 0),
  '==': (a, b) => Number(a === b),
  '!=': (a, b) => Number(a !== b),
  '<': (a, b) => Number(a < b),
  '<=': (a, b) => Number(a <= b),
  '>': (a, b) => Number(a > b),
  '>=': (a, b) => Number(a >= b),
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => Math.trunc(a / nonZero(b)),
  '%': (a, b) => a % nonZero(b),
}

/** `$((…))` over whole numbers and variables. Throws `ShellSyntaxError`. */
export function evaluateArithmetic(text: string, variable: (name: string) => string): number {
  const tokens = tokenise(text)
  let at = 0
  const level = (index: number): number => {
    const operators = LEVELS[index]
    if (operators === undefined) return unary()
    let value = level(index + 1)
    for (let token = tokens[at]; token !== undefined && operators.includes(token); token = tokens[at]) {
      at++
      value = OPERATIONS[token]!(value, level(index + 1))
    }
    return value
  }
  const unary = (): number => {
    const token = tokens[at++]
    if (token === '-') return -unary()
    if (token === '+') return unary()
    if (token === '!') return Number(unary() === 0)
    if (token === '(') {
      const value = level(0)
      if (tokens[at++] !== ')') throw invalid(text)
      return value
    }
    if (token === undefined || !/^\w/.test(token)) throw invalid(text)
    return Number(/^\d/.test(token) ? token : variable(token) || '0')
  }
  if (tokens.length === 0) return 0
  const value = level(0)
  if (at < tokens.length || Number.isNaN(value)) throw invalid(text)
  return value
}

function tokenise(text: string): string[] {
  const tokens: string[] = []
  for (TOKEN.lastIndex = 0; text.slice(TOKEN.lastIndex).trim() !== '';) {
    const match = TOKEN.exec(text)
    if (match === null) throw invalid(text)
    tokens.push(match[1]!)
  }
  return tokens
}

function nonZero(value: number): number {
  if (value === 0) throw new ShellSyntaxError('arithmetic expression: division by zero')
  return value
}

function invalid(text: string): ShellSyntaxError {
  return new ShellSyntaxError(`arithmetic expression: syntax error: ${JSON.stringify(text)}`)
}
