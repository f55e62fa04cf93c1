import { readdirSync } from 'node:fs'
import { comparePaths } from '../path/path-bytes.js'
import { fromNativePath, isLossy } from './native-path.js'
import type { Place } from './place.js'

/** Names in a directory, in byte order. */
export function listNames(directory: Place): string[] {
  const names = readdirSync(directory.self)
  const exact = names.some(isLossy) ? readdirSync(directory.self, { encoding: 'buffer' }).map(fromNativePath) : names
  return exact.sort(comparePaths)
}
