import { assertNotAborted } from '@cofferdam/core/plugin'
import type { FileToWrite } from '@cofferdam/core/plugin'
import { canonicalPathText } from '@cofferdam/core/path'
import { collectBytes } from './collect-bytes.js'
import { argumentError, deniedError, errnoError, pathError } from './file-errors.js'
import type { MemoryTree } from './tree/memory-tree.js'
import type { DirNode, Node } from './tree/nodes.js'
import { PosixError } from './tree/posix-error.js'

const OPERATION = 'files.writeMany'

export interface WriteEntriesRequest {
  readonly tree: MemoryTree
  readonly root: DirNode
  readonly entries: AsyncIterable<FileToWrite> | Iterable<FileToWrite>
  /** Called before every change. */
  readonly gate: () => void
  readonly signal?: AbortSignal
}

/** Writes entry by entry; times of directories at the very end, when nothing is made in them any more. */
export async function writeEntries(request: WriteEntriesRequest): Promise<void> {
  const times: { readonly node: Node; readonly mtimeNs: bigint }[] = []
  for await (const entry of request.entries) {
    assertNotAborted(request.signal, OPERATION)
    const content = entry.type === 'file' ? await collectBytes(entry.content, request.signal, OPERATION) : undefined
    if (entry.type === 'file' && content!.length !== entry.sizeBytes) {
      throw argumentError(
        'sizeBytes',
        `${JSON.stringify(entry.path)} has ${content!.length} bytes and not ${entry.sizeBytes}`,
      )
    }
    request.gate()
    try {
      const node = writeEntry(request, entry, content)
      const mtimeNs = entry.type === 'hardlink' ? undefined : entry.mtimeNs
      if (mtimeNs === undefined) continue
      request.tree.setMtime(node, mtimeNs)
      if (node.type === 'directory') times.push({ node, mtimeNs })
    } catch (error) {
      if (error instanceof PosixError) throw errnoError(error.errno, entry.path, OPERATION)
      throw error
    }
  }
  for (const { node, mtimeNs } of times) request.tree.setMtime(node, mtimeNs)
}

function writeEntry(request: WriteEntriesRequest, entry: FileToWrite, content: Uint8Array | undefined): Node {
  const { tree } = request
  const { parent, name } = beneath(request.root, entry.path)
  const old = parent.entries.get(name)
  if (entry.type === 'directory') {
    if (old?.type === 'directory') {
      tree.chmod(old, entry.mode)
      return old
    }
    if (old !== undefined) tree.remove({ parent, name, node: old })
    const made = tree.newDirectory(entry.mode)
    tree.add(parent, name, made)
    return made
  }
  const node = entry.type === 'hardlink' ? linked(request.root, entry.linkTarget) : newNode(tree, entry, content)
  if (old === node) return node
  if (old !== undefined) tree.removeAll({ parent, name, node: old })
  tree.add(parent, name, node)
  return node
}

function newNode(
  tree: MemoryTree,
  entry: Extract<FileToWrite, { type: 'file' | 'symlink' }>,
  content: Uint8Array | undefined,
): Node {
  if (entry.type === 'symlink') return tree.newLink(canonicalPathText(entry.linkTarget))
  const file = tree.newFile(entry.mode)
  file.bytes = content!
  file.sizeBytes = content!.length
  return file
}

function linked(root: DirNode, target: string): Node {
  const { parent, name } = beneath(root, target)
  const node = parent.entries.get(name)
  if (node === undefined) throw pathError('not_found', target, OPERATION)
  return node
}

/** No link on the way is followed, and no step leads up. */
function beneath(root: DirNode, path: string): { readonly parent: DirNode; readonly name: string } {
  const names = canonicalPathText(path).split('/')
  if (path.startsWith('/') || names.includes('..')) throw pathError('path_escape', path, OPERATION)
  if (names.some((name) => name === '' || name === '.' || name.includes('\0'))) {
    throw argumentError('path', `${JSON.stringify(path)} is not a plain relative path`)
  }
  let parent = root
  for (const name of names.slice(0, -1)) {
    const next = parent.entries.get(name)
    if (next === undefined) throw pathError('not_found', path, OPERATION)
    if (next.type === 'symlink') throw deniedError(path, OPERATION, 'a link is on the way')
    if (next.type !== 'directory') throw pathError('not_a_directory', path, OPERATION)
    parent = next
  }
  return { parent, name: names.at(-1)! }
}
