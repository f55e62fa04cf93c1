import { join } from 'node:path'
import { localBackend } from '@cofferdam/backend-local'
import { createHost } from '@cofferdam/core'
import type { Host, HostOptions } from '@cofferdam/core'
import { memoryStores } from './memory-stores.js'

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }

/** A host on the local backend with everything beneath one folder. */
export function localHost(folder: string, options: Partial<HostOptions> = {}): Promise<Host> {
  return createHost({
    plugins: [localBackend({ root: join(folder, 'sandboxes') })],
    baseDir: folder,
    dataDir: join(folder, 'data'),
    drainOnSignals: false,
    logger: silent,
    ...options,
  })
}

/** The same with stores in memory. */
export function localHostInMemory(folder: string): Promise<Host> {
  return localHost(folder, { plugins: [localBackend({ root: join(folder, 'sandboxes') }), memoryStores()] })
}
