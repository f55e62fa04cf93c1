import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { defineStoreSuite } from '@cofferdam/testkit'
import { createFolderBlobStore } from './folder-blob-store.js'
import { createFolderGuard } from './folder-guard.js'
import { createFolderStateStore } from './folder-state-store.js'

/** After each case, nothing half made may be left. */
async function inFolder<T>(
  create: (options: { readonly folder: string; readonly fsync: boolean }) => T,
): Promise<{ open: () => T; tearDown: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'cofferdam-store-'))
  return {
    open: () => create({ folder, fsync: false }),
    async tearDown() {
      // A case that is over before the store was opened leaves nothing at all.
      const names = await readdir(folder, { recursive: true }).finally(() => rm(folder, { recursive: true }))
      assert.deepEqual(
        names.filter((name) => name.startsWith('tmp/')),
        [],
      )
    },
  }
}

const runner = { describe, it }
defineStoreSuite(runner, { profile: 'state-store', name: 'folder', setUp: () => inFolder(createFolderStateStore) })
defineStoreSuite(runner, { profile: 'blob-store', name: 'folder', setUp: () => inFolder(createFolderBlobStore) })
defineStoreSuite(runner, { profile: 'guard', name: 'folder', setUp: () => inFolder(createFolderGuard) })
