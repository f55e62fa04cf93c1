import type { FileToWrite } from '../contracts/files.js'
import { dirSource } from './entries/dir.js'
import { fileSource } from './entries/file.js'
import { localDirSource } from './entries/local-dir.js'
import { localFileSource } from './entries/local-file.js'
import { symlinkSource } from './entries/symlink.js'
import type { Filling } from './filling.js'
import type { MaterializeStep } from './materialize-plan.js'

/** What an entry adds to the stream of files, in groups. A clone adds nothing: it is made by git, and moved. */
export function sourceOf(
  { path, entry }: MaterializeStep,
  filling: Filling & { readonly merge: boolean },
): AsyncIterable<readonly FileToWrite[]> | readonly (readonly FileToWrite[])[] {
  switch (entry.kind) {
    case 'file':
      return [fileSource(path, entry)]
    case 'dir':
      return [dirSource(path, entry)]
    case 'symlink':
      return [symlinkSource(path, entry)]
    case 'local_file':
      return localFileSource(path, entry, filling)
    case 'local_dir':
      return localDirSource(path, entry, filling)
    case 'git_repo':
      return []
  }
}
