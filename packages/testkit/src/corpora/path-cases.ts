/**
 * Paths that a sandbox meets, honest and hostile, as data: judged by their text ({@link LEXICAL_PATH_CASES}), and judged
 * with links on the disk ({@link DISK_PATH_CASES}).
 */
export { DISK_PATH_CASES } from './disk-path-cases.js'
export { LEXICAL_PATH_CASES } from './lexical-path-cases.js'
export { LEXICAL_SCOPE } from './path-case.js'
export type { DiskOperation, DiskPathCase, DiskSetup, LexicalPathCase, PathVerdict } from './path-case.js'
