import { decodePath } from '@cofferdam/core/path'
import type { Program, ProcessHost } from '../process/memory-process.js'
import type { DirNode, FileNode } from '../tree/nodes.js'
import { PosixError } from '../tree/posix-error.js'

/** Where commands are looked up. */
export type ExecutableHost = Pick<ProcessHost, 'tree' | 'programs'>

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

/** Looks a command up: by its path, among the built-in programs, then along `PATH` in the tree. */
export function findExecutable(machine: ExecutableHost, request: ExecutableRequest): Executable {
  const { name } = request
  const builtIn = findBuiltIn(machine, BIN.exec(name)?.[1] ?? name)
  if (name.includes('/')) return findFile(machine, request, name) ?? builtIn ?? { kind: 'missing' }
  if (builtIn !== undefined) return builtIn
  for (const directory of (request.environment.get('PATH') ?? '').split(':')) {
    const found = directory.startsWith('/') ? findFile(machine, request, `${directory}/${name}`) : undefined
    if (found?.kind === 'program') return found
  }
  return { kind: 'missing' }
}

function findBuiltIn(machine: ExecutableHost, name: string): Executable | undefined {
  const run = machine.programs.get(name)
  return run === undefined ? undefined : { kind: 'program', run, isCheap: CHEAP.has(name), isScript: false }
}

function findFile(machine: ExecutableHost, request: ExecutableRequest, path: string): Executable | undefined {
  try {
    const { node } = machine.tree.walk(path, { from: request.from })
    if (node === undefined) return undefined
    if (node.type !== 'file' || (node.mode & 0o111) === 0) return { kind: 'denied' }
    return script(machine, path, node)
  } catch (error) {
    if (error instanceof PosixError) return undefined
    throw error
  }
}

/** A file runs by what its first line names. */
function script(machine: ExecutableHost, path: string, file: FileNode): Executable {
  const line = decodePath(file.bytes.subarray(0, Math.min(file.sizeBytes, 256))).split('\n', 1)[0]!
  const named = /^#![ \t]*(\S+)(?:[ \t]+(\S+))?/.exec(line)
  const shell = machine.programs.get('sh')!
  if (named === null) {
    return { kind: 'program', run: (process, args) => shell(process, [path, ...args]), isCheap: false, isScript: true }
  }
  const viaEnv = named[1]!.endsWith('/env')
  const interpreter = (viaEnv ? named[2] : named[1])?.replace(/^.*\/(?:ba|da)?sh$/, '/bin/sh') ?? ''
  const found = findBuiltIn(machine, BIN.exec(interpreter)?.[1] ?? interpreter)
  if (found?.kind !== 'program') return { kind: 'missing' }
  const options = viaEnv || named[2] === undefined ? [] : [named[2]]
  return { ...found, run: (process, args) => found.run(process, [...options, path, ...args]), isCheap: false }
}
