import type { ArchiveCase } from './archive-case.js'
import { ARCHIVE_FORMAT_CASES } from './archive-format-cases.js'
import { ARCHIVE_LINK_CASES } from './archive-link-cases.js'
import { ARCHIVE_NAME_CASES } from './archive-name-cases.js'

/**
 * Archives that an extractor meets, honest and hostile. For the hostile ones the oracle is twofold: the code with which
 * extracting fails, and a tree outside the root whose hashes and inodes are the same before and after.
 */
export const ARCHIVE_CASES: readonly ArchiveCase[] = [
  ...ARCHIVE_NAME_CASES,
  ...ARCHIVE_LINK_CASES,
  ...ARCHIVE_FORMAT_CASES,
]
