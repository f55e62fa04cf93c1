import type { SandboxClient } from '@cofferdam/core/plugin'
import { createLocalClient } from './local-client.js'
import type { LocalState } from './local-state.js'
import type { LocalBackendOptions } from './options.js'

/** A client as a host would have it, whose log nobody reads. */
export function openTestClient(root: string, options: LocalBackendOptions = {}): Promise<SandboxClient<LocalState>> {
  const quiet = (): void => undefined
  return createLocalClient(
    { root, ...options },
    {
      logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
      clock: { nowMs: () => Date.now(), monotonicMs: () => performance.now() },
      baseDir: '/',
      announceWeakness: quiet,
    },
  )
}
