import type { FileToWrite } from '../../contracts/files.js'
import type { EntryPath, FileEntry } from '../../manifest/entry.js'

export function fileSource(path: EntryPath, entry: FileEntry): readonly FileToWrite[] {
  const content = Buffer.from(entry.text ?? entry.base64 ?? '', entry.text === undefined ? 'base64' : 'utf8')
  return [{ type: 'file', path, mode: entry.mode, sizeBytes: content.length, content }]
}
