import { archiveRejected } from './archive-error.js'
import type { ArchiveMemberType } from './archive-member.js'
import type { EffectiveHeader } from './extension-headers.js'
import { isSandboxError } from '../errors/sandbox-error.js'
import { MAX_PATH_BYTES } from '../path/path-components.js'
import { canonicalPathText, pathByteLength } from '../path/path-bytes.js'
import { parseRelativePath } from '../path/relative-path.js'
import type { RelativePath } from '../path/relative-path.js'

/** What a header says, in the terms of a member; not yet judged against the other members. */
export interface VettedHeader {
  readonly path: RelativePath
  readonly type: ArchiveMemberType
  readonly mode: number
  readonly mtimeNs: bigint
  readonly sizeBytes: number
  readonly linkTarget: string
  readonly uid: number
  readonly gid: number
}

const TYPES: Readonly<Record<string, ArchiveMemberType>> = {
  '0': 'file',
  '1': 'hardlink',
  '2': 'symlink',
  '5': 'directory',
}

const REFUSED_TYPES: Readonly<Record<string, string>> = {
  '3': 'a character device',
  '4': 'a block device',
  '6': 'a FIFO',
  '7': 'a contiguous file, which nobody writes',
  A: 'a Solaris access control list',
  D: 'a directory listing of an incremental backup',
  M: 'part of a file from another volume',
  N: 'a list of names in an old format',
  S: 'a sparse file; archive it without that option',
  V: 'a volume label',
  X: 'a Solaris extended header',
}

const MAX_ID = 0xffff_fffe
const MAX_TIME_NS = 2n ** 63n - 1n

/** Judges a header by itself. `undefined` for the root (`./`), which every archive of a directory has and nobody needs. */
export function vetHeader(header: EffectiveHeader, allowSetid: boolean): VettedHeader | undefined {
  const { name } = header
  const type = memberType(header)
  if (type !== 'file' && header.sizeBytes !== 0) throw archiveRejected(name, `it is a ${type} and has a size`)
  if (header.uid > MAX_ID || header.gid > MAX_ID) throw archiveRejected(name, 'its owner is out of range')
  if (header.mtimeNs > MAX_TIME_NS || header.mtimeNs < -MAX_TIME_NS) {
    throw archiveRejected(name, 'its time is out of range')
  }
  if (isRoot(name)) {
    if (type !== 'directory') throw archiveRejected(name, `it would make the root a ${type}`)
    return undefined
  }
  const isLink = type === 'symlink' || type === 'hardlink'
  if (isLink && name.endsWith('/')) throw archiveRejected(name, `it is a ${type} named like a directory`)
  return {
    path: memberPath(name, name, 'name'),
    type,
    mode: header.mode & (allowSetid ? 0o7777 : 0o777),
    mtimeNs: header.mtimeNs,
    sizeBytes: header.sizeBytes,
    linkTarget: isLink ? linkTarget(header, type) : '',
    uid: header.uid,
    gid: header.gid,
  }
}

function memberType({ type, name }: EffectiveHeader): ArchiveMemberType {
  // Before there was a type for directories they were files with a slash at the end; all readers still know that.
  if (type === '0' && name.endsWith('/')) return 'directory'
  const known = Object.hasOwn(TYPES, type) ? TYPES[type] : undefined
  if (known !== undefined) return known
  const what = Object.hasOwn(REFUSED_TYPES, type) ? REFUSED_TYPES[type] : `of the unknown type ${JSON.stringify(type)}`
  throw archiveRejected(name, `it is ${what}`)
}

/** `.`, `./`, `.//.`: something is written, and it leads nowhere. */
function isRoot(name: string): boolean {
  return name !== '' && !name.startsWith('/') && name.split('/').every((part) => part === '' || part === '.')
}

function memberPath(member: string, text: string, what: string): RelativePath {
  try {
    return parseRelativePath(text, what)
  } catch (error) {
    if (isSandboxError(error, 'path_escape')) {
      throw archiveRejected(member, text.startsWith('/') ? `its ${what} is absolute` : `its ${what} has a '..'`, error)
    }
    if (isSandboxError(error, 'invalid_argument'))
      throw archiveRejected(member, `its ${what}: ${error.details.reason}`, error)
    throw error
  }
}

function linkTarget(header: EffectiveHeader, type: 'symlink' | 'hardlink'): string {
  if (type === 'hardlink') return memberPath(header.name, header.linkName, 'target')
  const target = canonicalPathText(header.linkName)
  if (target === '') throw archiveRejected(header.name, 'it is a link to nothing')
  if (pathByteLength(target) > MAX_PATH_BYTES) {
    throw archiveRejected(header.name, `its target is longer than ${MAX_PATH_BYTES} bytes`)
  }
  return target
}
