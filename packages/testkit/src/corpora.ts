/** Attack corpora as data: whoever handles paths or archives can run them. */
export type { ArchiveCase } from './corpora/archive-case.js'
export { ARCHIVE_CASES } from './corpora/archive-cases.js'
export {
  base256,
  concatBytes,
  paxRecord,
  rawArchive,
  rawDirectory,
  rawFile,
  rawHardlink,
  rawLong,
  rawMember,
  rawPax,
  rawPaxBody,
  rawSymlink,
} from './corpora/build-archive.js'
export type { RawBytes, RawMember, RawNumber } from './corpora/build-archive.js'
export { DISK_PATH_CASES, LEXICAL_PATH_CASES, LEXICAL_SCOPE } from './corpora/path-cases.js'
export type { DiskOperation, DiskPathCase, DiskSetup, LexicalPathCase, PathVerdict } from './corpora/path-cases.js'
