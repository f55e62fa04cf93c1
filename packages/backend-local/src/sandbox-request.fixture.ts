import type { CreateSandbox } from '@cofferdam/core/plugin'

/** A request that the local backend can fulfil. */
export function sandboxRequest(changes: Partial<CreateSandbox> = {}): CreateSandbox {
  return {
    name: 'box',
    identity: { deployment: 'test', slotHash: 'ab', sessionId: 's' },
    workspaceRoot: '/workspace',
    environment: {},
    mounts: [],
    limits: { memoryBytes: null, cpus: null, pids: null, diskBytes: null },
    network: { kind: 'open' },
    users: 'off',
    entrypoint: 'ignore',
    fromNative: null,
    requires: {},
    ...changes,
  }
}
