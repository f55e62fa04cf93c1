import { describe, it } from 'vitest'
import { defineStoreSuite } from '@cofferdam/testkit'
import { createMemoryBlobStore } from './memory-blob-store.js'
import { createMemoryGuard } from './memory-guard.js'
import { createMemoryStateStore } from './memory-state-store.js'

const shared = <T>(store: T): { open: () => T; tearDown: () => Promise<void> } => ({
  open: () => store,
  tearDown: async () => undefined,
})

const runner = { describe, it }
defineStoreSuite(runner, {
  profile: 'state-store',
  name: 'memory',
  setUp: async () => shared(createMemoryStateStore()),
})
defineStoreSuite(runner, { profile: 'blob-store', name: 'memory', setUp: async () => shared(createMemoryBlobStore()) })
defineStoreSuite(runner, { profile: 'guard', name: 'memory', setUp: async () => shared(createMemoryGuard()) })
