import { join } from 'node:path'
import { BLOB_STORE, BLOB_STORE_NAME, CLOCK } from '../di/tokens.js'
import { definePlugin } from '../plugin/define-plugin.js'
import type { CofferdamPlugin } from '../plugin/define-plugin.js'
import { createArchiveEngine } from '../snapshot/archive-engine.js'
import { createNoneEngine } from '../snapshot/none-engine.js'
import { createFolderBlobStore } from '../store/folder-blob-store.js'
import { createFolderGuard } from '../store/folder-guard.js'
import { createFolderStateStore } from '../store/folder-state-store.js'

/** What a host has where no plugin brings another: stores and a guard in one folder, and the two built-in engines. */
export function defaultServices(dataDir: string): CofferdamPlugin {
  return definePlugin({
    name: '@cofferdam/core',
    register: (registry) => {
      registry.stateStore(() => createFolderStateStore({ folder: join(dataDir, 'state') }))
      registry.blobStore('folder', () => createFolderBlobStore({ folder: join(dataDir, 'blobs') }))
      registry.guard((services) => createFolderGuard({ folder: join(dataDir, 'leases'), clock: services.get(CLOCK) }))
      registry.snapshot('none', () => createNoneEngine())
      registry.snapshot(
        'archive',
        (services) =>
          createArchiveEngine({
            blobs: services.get(BLOB_STORE),
            storeName: services.get(BLOB_STORE_NAME),
            clock: services.get(CLOCK),
          }),
        { needs: [BLOB_STORE] },
      )
    },
  })
}
