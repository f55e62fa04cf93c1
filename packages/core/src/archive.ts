/** tar archives, read as the untrusted input that they are and written so that the same tree gives the same bytes. */
export { DEFAULT_ARCHIVE_LIMITS, resolveArchiveLimits } from './archive/archive-limits.js'
export type { ArchiveLimits } from './archive/archive-limits.js'
export type { ArchiveEntry, ArchiveMember, ArchiveMemberType } from './archive/archive-member.js'
export { readArchive } from './archive/read-archive.js'
export type { ReadArchiveOptions } from './archive/read-archive.js'
export { writeArchive } from './archive/write-archive.js'
export type { WriteArchiveOptions } from './archive/write-archive.js'
