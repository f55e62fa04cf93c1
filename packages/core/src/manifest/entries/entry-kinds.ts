import type { Entry, EntryKind } from '../entry.js'
import { bindMountKind } from './bind-mount.js'
import { dirKind } from './dir.js'
import { fileKind } from './file.js'
import { gitRepoKind } from './git-repo.js'
import type { KindSchema } from './kind-schema.js'
import { localDirKind } from './local-dir.js'
import { localFileKind } from './local-file.js'
import { projectionKind } from './projection.js'
import { symlinkKind } from './symlink.js'

/** Every kind of entry, and how it is read. */
export const ENTRY_KINDS: { readonly [K in EntryKind]: KindSchema<Extract<Entry, { readonly kind: K }>> } = {
  file: fileKind,
  dir: dirKind,
  local_file: localFileKind,
  local_dir: localDirKind,
  git_repo: gitRepoKind,
  symlink: symlinkKind,
  projection: projectionKind,
  bind_mount: bindMountKind,
}
