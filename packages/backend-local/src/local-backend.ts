import { join } from 'node:path'
import { BASE_DIR, CLOCK, DATA_DIR, definePlugin, EMIT, LOGGER } from '@cofferdam/core/plugin'
import type { CofferdamPlugin } from '@cofferdam/core/plugin'
import { createLocalClient } from './local-client.js'
import { checkOptions } from './options.js'
import type { LocalBackendOptions } from './options.js'

/**
 * Sandboxes that are processes on this machine, registered as backend `local`.
 *
 * **They are not isolated**: commands run as the user of this process, see its files and use its network. What is given is a
 * folder of their own, an environment of their own, an orderly end and a workspace that survives the process.
 *
 * Commands with `keepOnPark` go on while their host lives, with their output. When it ends they go on as well and the next
 * host can see and end them, but their output and exit are lost with the pipes, and the next write to one ends them as any
 * broken pipe does: let such a command write to a file.
 *
 * @throws `invalid_config` at once for options that cannot be used
 */
export function localBackend(options: LocalBackendOptions = {}): CofferdamPlugin {
  checkOptions(options)
  return definePlugin({
    name: '@cofferdam/backend-local',
    register(registry) {
      registry.backend('local', (services) =>
        // Sandboxes lie with the records that speak for them: a host with other records must not reap them.
        createLocalClient(
          { root: join(services.get(DATA_DIR), 'local'), ...options },
          {
            logger: services.get(LOGGER),
            clock: services.get(CLOCK),
            baseDir: services.get(BASE_DIR),
            announceWeakness: (reason) => services.get(EMIT)({ type: 'isolation.weak', backend: 'local', reason }),
          },
        ),
      )
    },
  })
}
