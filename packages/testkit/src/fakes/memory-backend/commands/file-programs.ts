import { comparePaths } from '@cofferdam/core/path'
import type { MemoryProcess, Program } from '../process/memory-process.js'
import { directoryPath } from '../tree/nodes.js'
import type { Node } from '../tree/nodes.js'
import { PosixError } from '../tree/posix-error.js'
import type { Place } from '../tree/walk.js'
import { fail, forEachPath, parseFlags, placeOf, print } from './program.js'

const mkdir: Program = (process, args) => {
  const { flags, rest } = parseFlags(args, 'p')
  return forEachPath(process, 'mkdir', rest, (path) => {
    const make = (each: string, mayExist: boolean): void => {
      const place = placeOf(process, each, mayExist)
      if (mayExist && place.node?.type === 'directory') return
      process.tree.add(place.parent, place.name, process.tree.newDirectory(0o755))
    }
    if (!flags.has('p')) return make(path, false)
    const parts = path.split('/')
    for (let count = 1; count <= parts.length; count++) {
      if (parts[count - 1] !== '') make(parts.slice(0, count).join('/'), true)
    }
  })
}

const rmdir: Program = (process, args) =>
  forEachPath(process, 'rmdir', args, (path) => {
    const place = placeOf(process, path, false)
    if (place.node !== undefined && place.node.type !== 'directory') throw new PosixError('ENOTDIR')
    process.tree.remove(place)
  })

const rm: Program = (process, args) => {
  const { flags, rest } = parseFlags(args, 'rRf')
  return forEachPath(process, 'rm', rest, (path) => {
    try {
      const place = placeOf(process, path, false)
      if (flags.has('r') || flags.has('R')) return process.tree.removeAll(place)
      if (place.node?.type === 'directory') throw new PosixError('EISDIR')
      process.tree.remove(place)
    } catch (error) {
      if (!(flags.has('f') && error instanceof PosixError && error.errno === 'ENOENT')) throw error
    }
  })
}

/** The last path when it is a directory: what is moved or copied goes into it. */
function destination(process: MemoryProcess, source: string, target: string): Place {
  const place = placeOf(process, target)
  if (place.node?.type !== 'directory') return placeOf(process, target, false)
  const name = source.replace(/\/+$/, '').split('/').at(-1)!
  return { parent: place.node, name, node: place.node.entries.get(name) }
}

const mv: Program = (process, args) => {
  const { rest } = parseFlags(args, 'fT')
  const target = rest.pop()
  if (target === undefined) return fail(process, 'mv: missing operand')
  return forEachPath(process, 'mv', rest, (path) =>
    process.tree.rename(placeOf(process, path, false), destination(process, path, target)),
  )
}

const cp: Program = (process, args) => {
  const { flags, rest } = parseFlags(args, 'rRap')
  const target = rest.pop()
  if (target === undefined) return fail(process, 'cp: missing operand')
  const deep = flags.has('r') || flags.has('R') || flags.has('a')
  return forEachPath(process, 'cp', rest, (path) => {
    const { node } = placeOf(process, path, !deep)
    if (node === undefined) throw new PosixError('ENOENT')
    copy(process, node, destination(process, path, target), deep)
  })
}

function copy(process: MemoryProcess, node: Node, to: Place, deep: boolean): void {
  const { tree } = process
  if (node.type === 'symlink') return tree.replace(to.parent, to.name, tree.newLink(node.target))
  if (node.type === 'file') {
    const existing = to.node?.type === 'file' ? to.node : undefined
    if (existing === node) throw new PosixError('EINVAL')
    const file = existing ?? tree.newFile(node.mode)
    if (existing === undefined) tree.replace(to.parent, to.name, file)
    tree.truncate(file)
    return tree.writeAt(file, 0, node.bytes.slice(0, node.sizeBytes))
  }
  if (!deep) throw new PosixError('EISDIR')
  const made = to.node ?? tree.newDirectory(node.mode)
  if (made.type !== 'directory') throw new PosixError('ENOTDIR')
  if (to.node === undefined) tree.add(to.parent, to.name, made)
  for (const [name, child] of [...node.entries]) {
    if (child !== made) copy(process, child, { parent: made, name, node: made.entries.get(name) }, true)
  }
}

const ln: Program = (process, args) => {
  const { flags, rest } = parseFlags(args, 'sfn')
  const [source = '', target = '.'] = rest
  return forEachPath(process, 'ln', [target], (path) => {
    const { tree } = process
    const to = flags.has('n') ? placeOf(process, path, false) : destination(process, source, path)
    if (flags.has('f') && to.node !== undefined) tree.remove(to)
    if (flags.has('s')) return tree.add(to.parent, to.name, tree.newLink(source))
    const { node } = placeOf(process, source, false)
    if (node === undefined) throw new PosixError('ENOENT')
    tree.link(node, to.parent, to.name)
  })
}

const touch: Program = (process, args) =>
  forEachPath(process, 'touch', args, (path) => {
    const { tree } = process
    const place = placeOf(process, path)
    if (place.node === undefined) tree.add(place.parent, place.name, tree.newFile(0o644))
    else tree.setMtime(place.node, tree.nextTimeNs())
  })

const chmod: Program = async (process, [mode = '', ...paths]) => {
  const match = /^(?:[0-7]{3,4}|[ugoa]*([-+])([rwx]+))$/.exec(mode)
  if (match === null) return fail(process, `chmod: ${mode}: invalid mode`)
  return forEachPath(process, 'chmod', paths, (path) => {
    const { node } = placeOf(process, path)
    if (node === undefined) throw new PosixError('ENOENT')
    process.tree.chmod(node, match[1] === undefined ? parseInt(mode, 8) : changedMode(node.mode, match[1], match[2]!))
  })
}

function changedMode(mode: number, sign: string, letters: string): number {
  const bits = [...letters].reduce((sum, letter) => sum | { r: 0o444, w: 0o222, x: 0o111 }[letter]!, 0)
  return sign === '+' ? mode | bits : mode & ~bits
}

const ls: Program = (process, args) => {
  const { flags, rest } = parseFlags(args, 'laAiR1dn')
  const paths = rest.length === 0 ? ['.'] : rest
  return forEachPath(process, 'ls', paths, async (path) => {
    const { node } = placeOf(process, path, flags.has('d') || flags.has('l'))
    const found = node?.type === 'symlink' && !flags.has('d') && !flags.has('l') ? placeOf(process, path).node : node
    if (found === undefined) throw new PosixError('ENOENT')
    if (found.type !== 'directory' || flags.has('d')) return print(process, `${line(path, found, flags)}\n`)
    await listDirectory(process, path, { directory: found, flags, titled: flags.has('R') || paths.length > 1 })
  })
}

async function listDirectory(
  process: MemoryProcess,
  path: string,
  what: {
    readonly directory: Extract<Node, { type: 'directory' }>
    readonly flags: ReadonlySet<string>
    readonly titled: boolean
  },
): Promise<void> {
  const { directory, flags } = what
  const names = [...directory.entries.keys()].sort(comparePaths)
  const shown = names.filter((name) => flags.has('a') || flags.has('A') || !name.startsWith('.'))
  const lines = shown.map((name) => line(name, directory.entries.get(name)!, flags))
  if (flags.has('a')) lines.unshift(line('.', directory, flags), line('..', directory.parent ?? directory, flags))
  await print(process, `${what.titled ? `${path}:\n` : ''}${lines.map((each) => `${each}\n`).join('')}`)
  if (!flags.has('R')) return
  for (const name of shown) {
    const child = directory.entries.get(name)!
    if (child.type !== 'directory') continue
    await print(process, '\n')
    await listDirectory(process, `${path}/${name}`, { ...what, directory: child })
  }
}

function line(name: string, node: Node, flags: ReadonlySet<string>): string {
  const inode = flags.has('i') ? `${node.inode} ` : ''
  if (!flags.has('l') && !flags.has('n')) return `${inode}${name}`
  const kind = node.type === 'directory' ? 'd' : node.type === 'symlink' ? 'l' : '-'
  const bits = [...'rwxrwxrwx'].map((letter, index) => ((node.mode >> (8 - index)) & 1 ? letter : '-')).join('')
  const size = node.type === 'file' ? node.sizeBytes : 0
  const arrow = node.type === 'symlink' ? ` -> ${node.target}` : ''
  const seconds = String(node.mtimeNs / 1_000_000_000n)
  return `${inode}${kind}${bits} ${node.links} 0 0 ${size} ${seconds} ${name}${arrow}`
}

/** `stat -c FORMAT`, with what can be told: %a %s %i %h %n %Y. */
const stat: Program = async (process, [option, format = '', ...paths]) => {
  if (option !== '-c') return fail(process, 'stat: only -c FORMAT is there')
  return forEachPath(process, 'stat', paths, async (path) => {
    const { node } = placeOf(process, path, false)
    if (node === undefined) throw new PosixError('ENOENT')
    const values: Record<string, string> = {
      a: node.mode.toString(8),
      s: String(node.type === 'file' ? node.sizeBytes : 0),
      i: String(node.inode),
      h: String(node.links),
      n: path,
      Y: String(node.mtimeNs / 1_000_000_000n),
    }
    await print(process, `${format.replace(/%(\w)/g, (whole, letter: string) => values[letter] ?? whole)}\n`)
  })
}

const pwd: Program = async (process) => {
  await print(process, `${directoryPath(process.directory)}\n`)
  return 0
}

export const FILE_PROGRAMS: Readonly<Record<string, Program>> = {
  chmod,
  cp,
  ln,
  ls,
  mkdir,
  mv,
  pwd,
  rm,
  rmdir,
  stat,
  touch,
}
