import type { FileToWrite } from '../../contracts/files.js'
import type { DirEntry, EntryPath } from '../../manifest/entry.js'

export function dirSource(path: EntryPath, entry: DirEntry): readonly FileToWrite[] {
  return [{ type: 'directory', path, mode: entry.mode }]
}
