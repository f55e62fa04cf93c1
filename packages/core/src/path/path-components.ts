import { SandboxError } from '../errors/sandbox-error.js'
import { canonicalPathText, pathByteLength } from './path-bytes.js'

/** Longest name of one file, as Linux and macOS have it. */
export const MAX_COMPONENT_BYTES = 255
/** Longest path. */
export const MAX_PATH_BYTES = 4096

/**
 * What every parser does first: refuses what no file system could hold, then splits. `.` and empty components (`//`, a
 * trailing slash) say nothing and are dropped; `..` is kept, because only a file system can say where it leads.
 */
export function pathComponents(text: string, what: string): string[] {
  if (typeof text !== 'string') throw unusable(what, `it is ${text === null ? 'null' : typeof text}, not a string`)
  if (text === '') throw unusable(what, 'it is empty')
  if (text.includes('\0')) throw unusable(what, 'it holds a NUL byte')
  // A UTF-16 unit is at least one byte, so that an enormous text is refused without being looked through.
  if (text.length > MAX_PATH_BYTES || pathByteLength(text) > MAX_PATH_BYTES) {
    throw unusable(what, `it is longer than ${MAX_PATH_BYTES} bytes`)
  }
  const components = canonicalPathText(text)
    .split('/')
    .filter((component) => component !== '' && component !== '.')
  for (const component of components) {
    // No character takes more than three bytes per UTF-16 unit.
    if (component.length * 3 > MAX_COMPONENT_BYTES && pathByteLength(component) > MAX_COMPONENT_BYTES) {
      throw unusable(what, `the name ${quotePath(component)} in it is longer than ${MAX_COMPONENT_BYTES} bytes`)
    }
  }
  return components
}

/** A path as it may appear in a message: on one line, and not endless. */
export function quotePath(text: string): string {
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 117)}...` : text)
}

/** The `invalid_argument` for a path that cannot be used at all. */
export function unusable(what: string, reason: string): SandboxError<'invalid_argument'> {
  return new SandboxError('invalid_argument', `The ${what} cannot be used: ${reason}.`, { argument: what, reason })
}

/** The `path_escape` for a path that leads out of where it may lie. */
export function escapes(text: string, what: string, reason: string): SandboxError<'path_escape'> {
  return new SandboxError('path_escape', `The ${what} ${quotePath(text)} ${reason}.`, { path: text })
}
