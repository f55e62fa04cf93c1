import { archiveRejected } from './archive-error.js'
import { parsePaxRecords } from './pax-records.js'
import type { PaxAttributes } from './pax-records.js'
import type { TarHeader } from './tar-header.js'
import { decodePath } from '../path/path-bytes.js'

/** Far more than names (4 KiB) and the extended attributes that others put there (64 KiB) need. */
export const MAX_EXTENSION_BYTES: number = 1024 * 1024

const LARGEST_OCTAL_SIZE = 8 ** 11 - 1

/** Type flags of headers that only say something about what follows. */
export function isExtension(type: string): boolean {
  return type === 'x' || type === 'g' || type === 'L' || type === 'K'
}

/** A header with what the extensions before it changed. */
export interface EffectiveHeader {
  readonly type: string
  readonly name: string
  readonly linkName: string
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly sizeBytes: number
  readonly mtimeNs: bigint
}

/**
 * Collects the extension headers in front of a member and applies them. Whatever could be read in two ways is refused: the
 * same extension twice, two extensions that name the member, one that nothing follows.
 */
export class ExtensionHeaders {
  #global: PaxAttributes = {}
  #local: PaxAttributes | undefined
  #longName: string | undefined
  #longLink: string | undefined

  add(type: string, body: Uint8Array): void {
    if (type === 'g') {
      if (this.pending) throw archiveRejected('', 'a global header stands between a header and its member')
      this.#global = { ...this.#global, ...parsePaxRecords(body, 'global') }
    } else if (type === 'x') {
      if (this.#local !== undefined) throw archiveRejected('', 'two pax headers stand before one member')
      this.#local = parsePaxRecords(body, 'member')
    } else if (type === 'L') {
      if (this.#longName !== undefined) throw archiveRejected('', 'two long names stand before one member')
      this.#longName = longText(body)
    } else {
      if (this.#longLink !== undefined) throw archiveRejected('', 'two long link names stand before one member')
      this.#longLink = longText(body)
    }
  }

  /** Whether a member must follow. */
  get pending(): boolean {
    return this.#local !== undefined || this.#longName !== undefined || this.#longLink !== undefined
  }

  /** The member's header as it is meant; what was collected for it is used up. */
  apply(header: TarHeader): EffectiveHeader {
    const local = this.#local ?? {}
    const name = onlyOne(header.name, local.path, this.#longName)
    const linkName = onlyOne(name, local.linkPath, this.#longLink)
    if (linkName !== undefined && header.type !== '1' && header.type !== '2') {
      throw archiveRejected(name ?? header.name, 'it has a link target and is not a link')
    }
    this.#local = undefined
    this.#longName = undefined
    this.#longLink = undefined
    return {
      type: header.type,
      name: name ?? header.name,
      linkName: linkName ?? header.linkName,
      mode: header.mode,
      uid: local.uid ?? this.#global.uid ?? header.uid,
      gid: local.gid ?? this.#global.gid ?? header.gid,
      sizeBytes: effectiveSize(name ?? header.name, header.sizeBytes, local.sizeBytes),
      mtimeNs: local.mtimeNs ?? this.#global.mtimeNs ?? BigInt(header.mtimeSeconds) * 1_000_000_000n,
    }
  }
}

/** A size that overrides one which the header could hold is there for some readers to miss. */
function effectiveSize(name: string, inHeader: number, inPax: number | undefined): number {
  if (inPax === undefined || inPax === inHeader) return inHeader
  if (inPax <= LARGEST_OCTAL_SIZE) throw archiveRejected(name, 'its pax size is not the size in its header')
  return inPax
}

function onlyOne(member: string | undefined, pax: string | undefined, long: string | undefined): string | undefined {
  if (pax !== undefined && long !== undefined)
    throw archiveRejected(member ?? '', 'it is named by two extension headers')
  return pax ?? long
}

/** GNU long names end with a NUL, which some writers leave out. */
function longText(body: Uint8Array): string {
  const end = body.indexOf(0)
  if (end !== -1 && body.subarray(end).some((byte) => byte !== 0)) {
    throw archiveRejected('', 'a long name goes on behind a NUL byte')
  }
  const text = decodePath(end === -1 ? body : body.subarray(0, end))
  if (text === '') throw archiveRejected('', 'a long name is empty')
  return text
}
