import type { MemoryProcess, Program } from '../process/memory-process.js'
import type { Node } from '../tree/nodes.js'
import { PosixError } from '../tree/posix-error.js'
import { fail, placeOf } from './program.js'

const FILE_TESTS: Readonly<Record<string, (node: Node) => boolean>> = {
  '-e': () => true,
  '-f': (node) => node.type === 'file',
  '-d': (node) => node.type === 'directory',
  '-s': (node) => node.type !== 'file' || node.sizeBytes > 0,
  '-r': () => true,
  '-w': () => true,
  '-x': (node) => node.type === 'directory' || (node.mode & 0o111) !== 0,
  '-p': () => false,
}

const COMPARISONS: Readonly<Record<string, (a: string, b: string) => boolean>> = {
  '=': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '-eq': (a, b) => Number(a) === Number(b),
  '-ne': (a, b) => Number(a) !== Number(b),
  '-lt': (a, b) => Number(a) < Number(b),
  '-le': (a, b) => Number(a) <= Number(b),
  '-gt': (a, b) => Number(a) > Number(b),
  '-ge': (a, b) => Number(a) >= Number(b),
}

/** `test`, decided by the number of arguments as POSIX says; `-a` and `-o` between simple ones. */
export const test: Program = async (process, args) => {
  try {
    return evaluate(process, args) ? 0 : 1
  } catch (error) {
    if (!(error instanceof TestSyntax)) throw error
    return fail(process, `test: ${args.join(' ')}: not understood`, 2)
  }
}

/** As `test`, with a `]` at the end. */
export const bracketTest: Program = async (process, args) => {
  if (args.at(-1) !== ']') return fail(process, '[: missing ]', 2)
  return test(process, args.slice(0, -1))
}

class TestSyntax extends Error {
  override readonly name = 'TestSyntax'
}

function evaluate(process: MemoryProcess, args: readonly string[]): boolean {
  const [first = '', second = '', third = ''] = args
  if (args.length === 0) return false
  if (args.length === 1) return first !== ''
  if (args.length === 3 && COMPARISONS[second] !== undefined) return COMPARISONS[second](first, third)
  if (first === '!') return !evaluate(process, args.slice(1))
  if (args.length === 2) return unary(process, first, second)
  const either = args.indexOf('-o')
  if (either > 0) return evaluate(process, args.slice(0, either)) || evaluate(process, args.slice(either + 1))
  const both = args.indexOf('-a')
  if (both > 0) return evaluate(process, args.slice(0, both)) && evaluate(process, args.slice(both + 1))
  throw new TestSyntax()
}

function unary(process: MemoryProcess, operator: string, operand: string): boolean {
  if (operator === '-n') return operand !== ''
  if (operator === '-z') return operand === ''
  if (operator === '-t') return false
  if (operator === '-h' || operator === '-L') return lookUp(process, operand, false)?.type === 'symlink'
  const check = FILE_TESTS[operator]
  if (check === undefined) throw new TestSyntax()
  const node = lookUp(process, operand, true)
  return node !== undefined && check(node)
}

function lookUp(process: MemoryProcess, path: string, follow: boolean): Node | undefined {
  try {
    return placeOf(process, path, follow).node
  } catch (error) {
    if (error instanceof PosixError) return undefined
    throw error
  }
}
