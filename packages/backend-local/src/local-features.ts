import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BackendFeatures } from '@cofferdam/core/plugin'

/** What processes without walls can have on this machine. */
export function describeFeatures(of: { readonly tty: boolean; readonly root: string }): BackendFeatures {
  return Object.freeze({
    isolation: 'none',
    network: Object.freeze(['open'] as const),
    tty: of.tty,
    killTree: 'best-effort',
    fencing: true,
    pause: false,
    freeze: process.platform === 'linux',
    ports: true,
    limits: Object.freeze({ memory: false, cpu: false, pids: false, disk: false }),
    users: false,
    bindMounts: false,
    vaults: false,
    reattach: true,
    persistentWorkspace: true,
    nativeSnapshot: false,
    fork: false,
    foldsCase: foldsCase(of.root),
    byteNames: process.platform === 'linux',
  })
}

/** Asked of the file system itself: what the platform usually does says nothing about a folder. */
function foldsCase(root: string): boolean {
  const folder = mkdtempSync(join(root, '.probe-'))
  try {
    writeFileSync(join(folder, 'case'), '')
    return existsSync(join(folder, 'CASE'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
