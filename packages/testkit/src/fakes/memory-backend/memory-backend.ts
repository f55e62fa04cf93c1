import { definePlugin } from '@cofferdam/core/plugin'
import type { CofferdamPlugin } from '@cofferdam/core/plugin'
import { createMemoryClient } from './memory-client.js'
import { createMemoryWorld } from './memory-world.js'
import type { MemoryWorld } from './memory-world.js'

/**
 * The reference implementation of a backend, with no process of the operating system: files, pipes, signals and a small
 * POSIX shell in memory. It passes the same suite as every other backend, starts in microseconds and leaves nothing, so
 * it is what tests of hosts and capabilities run on. It confines nothing and promises nothing about isolation.
 */
export function memoryBackend(world: MemoryWorld = createMemoryWorld()): CofferdamPlugin {
  return definePlugin({
    name: '@cofferdam/testkit/memory-backend',
    register: (registry) => registry.backend('memory', () => createMemoryClient(world)),
  })
}
