import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { localBackend } from '@cofferdam/backend-local'
import { createHost } from '@cofferdam/core'
import type { BackendFeatures } from '@cofferdam/core'
import { memoryBackend } from '@cofferdam/testkit'

const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing }

/** What each backend of this repository declares on this machine, asked of a sandbox. */
export async function declaredFeatures(): Promise<ReadonlyMap<string, BackendFeatures>> {
  const baseDir = await mkdtemp(join(tmpdir(), 'cofferdam-features-'))
  const declared = new Map<string, BackendFeatures>()
  try {
    await using host = await createHost({ plugins: [localBackend(), memoryBackend()], baseDir, logger: silent })
    for (const backend of host.backends) {
      await using session = await host.acquire({ backend, afterRelease: 'destroy' })
      declared.set(backend, session.features)
    }
  } finally {
    await rm(baseDir, { recursive: true, force: true })
  }
  return declared
}

function nothing(): void {}
