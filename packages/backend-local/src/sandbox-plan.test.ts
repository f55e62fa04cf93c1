import { describe, expect, it } from 'vitest'
import { isSandboxError } from '@cofferdam/core/plugin'
import type { CreateSandbox } from '@cofferdam/core/plugin'
import { localBackend } from './local-backend.js'
import { describeFeatures } from './local-features.js'
import { tmpdir } from 'node:os'
import { refuseUnsupported } from './sandbox-plan.js'
import { sandboxRequest } from './sandbox-request.fixture.js'

const features = describeFeatures({ tty: false, root: tmpdir() })
const limits = sandboxRequest().limits

describe('refuseUnsupported', () => {
  it.each<[feature: string, changes: Partial<CreateSandbox>]>([
    ['bindMounts', { mounts: [{ source: '/a', target: '/b', readOnly: true }] }],
    ['users', { users: 'on' }],
    ['network', { network: { kind: 'none' } }],
    ['network', { network: { kind: 'policy', allow: [] } }],
    ['limits.memoryBytes', { limits: { ...limits, memoryBytes: 1 } }],
    ['limits.cpus', { limits: { ...limits, cpus: 1 } }],
    ['limits.pids', { limits: { ...limits, pids: 1 } }],
    ['limits.diskBytes', { limits: { ...limits, diskBytes: 1 } }],
    ['nativeSnapshot', { fromNative: { backend: 'local', id: 'x', data: null } }],
    ['isolation', { requires: { isolation: 'process' } }],
    ['killTree', { requires: { killTree: 'proven' } }],
    ['tty', { requires: { tty: true } }],
    ['network', { requires: { network: 'none' } }],
    ['limits.memory', { requires: { limits: { memory: true } } }],
  ])('refuses %s', (feature, changes) => {
    expect(() => refuseUnsupported(sandboxRequest(changes), features)).toThrow(
      expect.toSatisfy((error) => isSandboxError(error, 'unsupported_feature') && error.details.feature === feature),
    )
  })

  it('takes what plain processes can have', () => {
    const requires = {
      isolation: 'none',
      network: 'open',
      ports: true,
      reattach: true,
      persistentWorkspace: true,
    } as const
    expect(() => refuseUnsupported(sandboxRequest({ requires }), features)).not.toThrow()
  })
})

describe('localBackend', () => {
  it.each([[{ rot: '/x' }], [{ root: '' }], [{ keepEnded: -1 }], [{ path: 5 }]])('refuses %j at once', (options) => {
    expect(() => localBackend(options as object)).toThrow(
      expect.toSatisfy((error) => isSandboxError(error, 'invalid_config')),
    )
  })
})
