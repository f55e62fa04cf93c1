import { decodePath } from '@cofferdam/core/path'
import type { MemoryTree } from '../tree/memory-tree.js'
import type { DirNode, FileNode } from '../tree/nodes.js'
import { PosixError } from '../tree/posix-error.js'
import { bracketTest, test } from './evaluate-test.js'
import { FILE_PROGRAMS } from './file-programs.js'
import { printf } from './printf.js'
import { PROCESS_PROGRAMS } from './process-programs.js'
import type { Program } from './program.js'
import { printName, TEXT_PROGRAMS } from './text-programs.js'

export interface ExecutableRequest {
  /** As written; with a slash it is a path. */
  readonly name: string
  readonly from: DirNode
  readonly environment: ReadonlyMap<string, string>
}

export type Executable =
  /** `isCheap`: shells run it themselves, without a process. `isScript`: it has no `#!`, so only a shell can run it. */
  | { readonly kind: 'program'; readonly run: Program; readonly isCheap: boolean; readonly isScript: boolean }
  | { readonly kind: 'missing' | 'denied' }

const BIN = /^(?:\/usr)?\/bin\/([^/]+)$/
const CHEAP = new Set(['echo', 'printf', 'true', 'false', 'test', '[', 'pwd', 'kill'])
const basename: Program = (process, [path = '']) => printName(process, path.replace(/\/+$/, '').split('/').at(-1)!)
const dirname: Program = (process, [path = '']) =>
  printName(process, /^(.*?)\/+[^/]*\/*$/s.exec(path)?.[1] || (path.startsWith('/') ? '/' : '.'))

/** Looks a command up: by its path, among the built-in programs, then along `PATH` in the tree. */
export function findExecutable(tree: MemoryTree, request: ExecutableRequest): Executable {
  const { name } = request
  const builtIn = findBuiltIn(BIN.exec(name)?.[1] ?? name)
  if (name.includes('/')) return findFile(tree, request, name) ?? builtIn ?? { kind: 'missing' }
  if (builtIn !== undefined) return builtIn
  for (const directory of (request.environment.get('PATH') ?? '').split(':')) {
    const found = directory.startsWith('/') ? findFile(tree, request, `${directory}/${name}`) : undefined
    if (found?.kind === 'program') return found
  }
  return { kind: 'missing' }
}

function findBuiltIn(name: string): Executable | undefined {
  const run = programs().get(name)
  return run === undefined ? undefined : { kind: 'program', run, isCheap: CHEAP.has(name), isScript: false }
}

let all: ReadonlyMap<string, Program> | undefined

/** Made at first use: `env` and `sh` look programs up themselves. */
function programs(): ReadonlyMap<string, Program> {
  all ??= new Map(
    Object.entries({
      ...TEXT_PROGRAMS,
      ...FILE_PROGRAMS,
      ...PROCESS_PROGRAMS,
      '[': bracketTest,
      basename,
      dirname,
      printf,
      test,
    }),
  )
  return all
}

function findFile(tree: MemoryTree, request: ExecutableRequest, path: string): Executable | undefined {
  try {
    const { node } = tree.walk(path, { from: request.from })
    if (node === undefined) return undefined
    if (node.type !== 'file' || (node.mode & 0o111) === 0) return { kind: 'denied' }
    return script(tree, request, path, node)
  } catch (error) {
    if (error instanceof PosixError) return undefined
    throw error
  }
}

/** A file runs by what its first line names. */
function script(tree: MemoryTree, request: ExecutableRequest, path: string, file: FileNode): Executable {
  const line = decodePath(file.bytes.subarray(0, Math.min(file.sizeBytes, 256))).split('\n', 1)[0]!
  const named = /^#![ \t]*(\S+)(?:[ \t]+(\S+))?/.exec(line)
  const shell = programs().get('sh')!
  if (named === null) {
    return { kind: 'program', run: (process, args) => shell(process, [path, ...args]), isCheap: false, isScript: true }
  }
  const viaEnv = named[1]!.endsWith('/env')
  const interpreter = (viaEnv ? named[2] : named[1])?.replace(/^.*\/(?:ba|da)?sh$/, '/bin/sh') ?? ''
  const found = findBuiltIn(BIN.exec(interpreter)?.[1] ?? interpreter)
  if (found?.kind !== 'program') return { kind: 'missing' }
  const options = viaEnv || named[2] === undefined ? [] : [named[2]]
  return { ...found, run: (process, args) => found.run(process, [...options, path, ...args]), isCheap: false }
}
