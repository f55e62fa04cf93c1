import { createMemoryBlobStore, createMemoryGuard, createMemoryStateStore } from '@cofferdam/core'
import { definePlugin } from '@cofferdam/core/plugin'
import type { CofferdamPlugin } from '@cofferdam/core/plugin'

/** Stores and a guard that cost next to nothing. */
export function memoryStores(): CofferdamPlugin {
  return definePlugin({
    name: 'memory-stores',
    register: (registry) => {
      registry.stateStore(() => createMemoryStateStore())
      registry.blobStore('memory', () => createMemoryBlobStore())
      registry.guard(() => createMemoryGuard())
    },
  })
}
