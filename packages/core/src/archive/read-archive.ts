import { archiveLimit, archiveRejected } from './archive-error.js'
import { resolveArchiveLimits } from './archive-limits.js'
import type { ArchiveLimits } from './archive-limits.js'
import type { ArchiveMember, ArchiveMemberType } from './archive-member.js'
import { ByteQueue } from './byte-queue.js'
import { ExtensionHeaders, isExtension, MAX_EXTENSION_BYTES } from './extension-headers.js'
import { gunzipChunks, isGzip } from './gzip.js'
import { MemberContent } from './member-content.js'
import { MemberTree } from './member-tree.js'
import { PullSource } from './pull-source.js'
import { BLOCK_BYTES, isZeroBlock, readTarHeader } from './tar-header.js'
import { vetHeader } from './vet-member.js'
import type { VettedHeader } from './vet-member.js'
import type { RelativePath } from '../path/relative-path.js'

export interface ReadArchiveOptions {
  /** Default: {@link DEFAULT_ARCHIVE_LIMITS}. */
  readonly limits?: Partial<ArchiveLimits>
  readonly signal?: AbortSignal
  /** Whether the archive is gzip-compressed. Default `'auto'`: judged by its first two bytes. */
  readonly gzip?: 'auto' | boolean
  /**
   * The archive is extracted to a file system which takes names that differ in letter case or Unicode form for one: such
   * members are refused. Default false.
   */
  readonly targetFoldsCase?: boolean
  /** Keep set-user-id, set-group-id and sticky bits. Default false: they are dropped. */
  readonly allowSetid?: boolean
  /**
   * What symbolic links may point to. `'inside'` (default): nothing that leaves the root, also not through other links of
   * the archive. `'any'`: anything, for archives of one's own workspace, whose links are its user's business; members
   * beneath links are refused all the same.
   */
  readonly linkTargets?: 'inside' | 'any'
}

/**
 * Reads a tar archive (v7, ustar, GNU, pax; plain or gzip-compressed), streaming and in constant memory apart from names.
 *
 * An archive is untrusted input, so this reader is strict where others are lenient: a member is given out only after its
 * name, type, size and target were vetted, on their own and against all members before it, and an archive that two readers
 * could read differently is refused. What is refused, and why, is in the error's `reason`. A rejection may come after
 * earlier members were given out: extract to a place from which it can be taken back. This reader does not see what is
 * already on the disk; whoever extracts must not follow links there.
 *
 * Not carried: extended attributes, ACLs, access and change times. The root's own member (`./`) is not given out.
 *
 * @throws `archive_rejected`, `archive_limit`; `aborted`; `invalid_argument` for limits (at once); what the source throws.
 * The source is cancelled whenever reading ends early.
 */
export function readArchive(
  source: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>,
  options: ReadArchiveOptions = {},
): AsyncGenerator<ArchiveMember, void, undefined> {
  const { signal, gzip = 'auto', targetFoldsCase = false, allowSetid = false, linkTargets = 'inside' } = options
  const limits = resolveArchiveLimits(options.limits)
  return read(source, { limits, signal, gzip, targetFoldsCase, allowSetid, linkTargets })
}

interface ReadPlan {
  readonly limits: ArchiveLimits
  readonly signal: AbortSignal | undefined
  readonly gzip: 'auto' | boolean
  readonly targetFoldsCase: boolean
  readonly allowSetid: boolean
  readonly linkTargets: 'inside' | 'any'
}

async function* read(
  source: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>,
  plan: ReadPlan,
): AsyncGenerator<ArchiveMember, void, undefined> {
  const raw = new PullSource(source, plan.signal)
  let unpacked: AsyncGenerator<Uint8Array, void, undefined> | undefined
  let failure: unknown
  try {
    const input = new ByteQueue(limitedInput(raw, plan.limits))
    if (!(await input.fill(2))) throw archiveRejected('', 'it is empty or cut off')
    if (plan.gzip === true || (plan.gzip === 'auto' && isGzip(input.peek(2)))) {
      unpacked = gunzipChunks(input, plan.limits)
    }
    yield* readMembers(unpacked === undefined ? input : queueOf(unpacked), plan)
  } catch (error) {
    failure = error
    throw error
  } finally {
    await raw.close(failure)
    await unpacked?.return()
  }
}

function limitedInput(raw: PullSource<Uint8Array>, limits: ArchiveLimits): () => Promise<Uint8Array | undefined> {
  let inputBytes = 0
  return async () => {
    const chunk = await raw.next()
    inputBytes += chunk?.length ?? 0
    if (inputBytes > limits.maxInputBytes) throw archiveLimit('maxInputBytes', limits)
    return chunk
  }
}

function queueOf(chunks: AsyncGenerator<Uint8Array, void, undefined>): ByteQueue {
  return new ByteQueue(async () => (await chunks.next()).value ?? undefined)
}

async function* readMembers(input: ByteQueue, plan: ReadPlan): AsyncGenerator<ArchiveMember, void, undefined> {
  const extensions = new ExtensionHeaders()
  const tree = new MemberTree(plan)
  let memberCount = 0
  let extractedBytes = 0
  for (;;) {
    const block = await nextBlock(input)
    if (isZeroBlock(block)) {
      if (extensions.pending) throw archiveRejected('', 'it ends behind a header that announces a member')
      return await expectEnd(input)
    }
    const header = readTarHeader(block)
    if (!isExtension(header.type) || header.type === 'g') memberCount++
    if (memberCount > plan.limits.maxMembers) throw archiveLimit('maxMembers', plan.limits)
    if (isExtension(header.type)) {
      extensions.add(header.type, await extensionBody(input, header.sizeBytes))
      continue
    }
    const vetted = vetHeader(extensions.apply(header), plan.allowSetid)
    if (vetted === undefined) continue
    tree.admit(vetted.path, vetted.type, vetted.linkTarget)
    extractedBytes += vetted.sizeBytes
    if (extractedBytes > plan.limits.maxExtractedBytes) throw archiveLimit('maxExtractedBytes', plan.limits)
    const content = new MemberContent(input, vetted.path, vetted.sizeBytes)
    yield new TarMember(vetted, content)
    await content.finish()
  }
}

async function nextBlock(input: ByteQueue): Promise<Uint8Array> {
  if (input.buffered < BLOCK_BYTES && !(await input.fill(BLOCK_BYTES))) {
    throw archiveRejected('', 'it is cut off: its end is not marked')
  }
  return input.take(BLOCK_BYTES)
}

/** One zero block was seen: there must be another, and then nothing but zeros. */
async function expectEnd(input: ByteQueue): Promise<void> {
  const second = await nextBlock(input)
  let rest: Uint8Array | undefined = second
  while (rest !== undefined) {
    if (rest.some((byte) => byte !== 0)) {
      throw archiveRejected('', rest === second ? 'its end is marked only half' : 'something follows its end')
    }
    rest = await input.some(Infinity)
  }
}

async function extensionBody(input: ByteQueue, sizeBytes: number): Promise<Uint8Array> {
  if (sizeBytes > MAX_EXTENSION_BYTES) throw archiveRejected('', 'an extension header is unreasonably long')
  const paddedBytes = Math.ceil(sizeBytes / BLOCK_BYTES) * BLOCK_BYTES
  if (!(await input.fill(paddedBytes))) throw archiveRejected('', 'it is cut off within an extension header')
  return input.take(paddedBytes).subarray(0, sizeBytes)
}

class TarMember implements ArchiveMember {
  readonly path: RelativePath
  readonly type: ArchiveMemberType
  readonly mode: number
  readonly mtimeNs: bigint
  readonly sizeBytes: number
  readonly uid: number
  readonly gid: number
  declare readonly linkTarget?: string
  readonly #content: MemberContent
  #stream: ReadableStream<Uint8Array> | undefined

  constructor(vetted: VettedHeader, content: MemberContent) {
    this.path = vetted.path
    this.type = vetted.type
    this.mode = vetted.mode
    this.mtimeNs = vetted.mtimeNs
    this.sizeBytes = vetted.sizeBytes
    this.uid = vetted.uid
    this.gid = vetted.gid
    if (vetted.linkTarget !== '') this.linkTarget = vetted.linkTarget
    this.#content = content
  }

  get content(): ReadableStream<Uint8Array> {
    return (this.#stream ??= this.#content.stream())
  }

  bytes(): Promise<Uint8Array> {
    return this.#content.bytes()
  }
}
