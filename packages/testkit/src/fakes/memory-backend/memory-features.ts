import type { BackendFeatures } from '@cofferdam/core/plugin'

/**
 * What the memory backend can do.
 *
 * `isolation: 'none'`, although no command here can reach the machine: what keeps it from doing so is that this
 * interpreter offers nothing that would, and not a boundary which somebody enforces. Whoever insists on isolation must
 * not get a fake. `network` names `none` and `open` because no program here knows a network: both are true.
 */
export const MEMORY_FEATURES: BackendFeatures = Object.freeze({
  isolation: 'none',
  network: Object.freeze(['none', 'open'] as const),
  tty: false,
  killTree: 'proven',
  fencing: true,
  pause: true,
  freeze: true,
  ports: false,
  limits: Object.freeze({ memory: false, cpu: false, pids: false, disk: false }),
  users: false,
  bindMounts: false,
  vaults: false,
  reattach: true,
  persistentWorkspace: true,
  nativeSnapshot: false,
  fork: false,
  foldsCase: false,
  byteNames: true,
})
