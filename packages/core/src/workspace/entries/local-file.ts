import type { FileToWrite } from '../../contracts/files.js'
import { SandboxError } from '../../errors/sandbox-error.js'
import type { EntryPath, LocalFileEntry } from '../../manifest/entry.js'
import type { Filling } from '../filling.js'
import { fileToWrite } from '../read-host-tree.js'

export async function* localFileSource(
  path: EntryPath,
  entry: LocalFileEntry,
  filling: Filling,
): AsyncGenerator<readonly FileToWrite[]> {
  const host = await filling.host()
  const source = host.locate(entry.source)
  let found = false
  for await (const read of host.files.readMany([source])) {
    found = true
    yield [await fileToWrite(path, read, entry.mode)]
  }
  if (!found)
    throw new SandboxError('not_found', `entries.${path}: there is no ${source} on the host.`, { path: source })
}
