import type { FileToWrite } from '../../contracts/files.js'
import type { EntryPath, SymlinkEntry } from '../../manifest/entry.js'

export function symlinkSource(path: EntryPath, entry: SymlinkEntry): readonly FileToWrite[] {
  return [{ type: 'symlink', path, linkTarget: entry.target }]
}
