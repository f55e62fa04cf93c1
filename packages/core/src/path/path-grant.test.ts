import { describe, expect, it } from 'vitest'
import { grantFor, parsePathGrants } from './path-grant.js'
import type { PathGrant } from './path-grant.js'
import { isSandboxError } from '../errors/sandbox-error.js'

const grants = parsePathGrants([
  { path: '/srv/data/', access: 'read' },
  { path: '/srv/data/out', access: 'read-write' },
  { path: '/srv/both', access: 'read-write' },
  { path: '/srv/both', access: 'read' },
])

describe('grantFor', () => {
  it.each<[string, PathGrant['access'] | undefined]>([
    ['/srv/data', 'read'],
    ['/srv/data/x', 'read'],
    ['/srv/data/out/x', 'read-write'],
    ['/srv/data/outside', 'read'],
    ['/srv/both/x', 'read'],
    ['/srv/database', undefined],
    ['/srv', undefined],
    ['/', undefined],
    ['/srv/data/../secret', undefined],
    ['/srv/data/./x', undefined],
    ['/srv/data/x\0', undefined],
    ['srv/data', undefined],
    ['', undefined],
  ])('%j: %s', (path, access) => {
    expect(grantFor(path, grants)?.access).toBe(access)
  })
})

describe('parsePathGrants', () => {
  it.each(['/', '//', '/.', 'relative', '', '/a/../b', '/a\0'])('refuses %j', (path) => {
    expect(() => parsePathGrants([{ path, access: 'read' }])).toThrow(
      expect.toSatisfy((error) => isSandboxError(error, 'invalid_argument')),
    )
  })

  it('refuses an access that it does not know', () => {
    const grant = { path: '/a', access: 'write' } as unknown as PathGrant
    expect(() => parsePathGrants([grant])).toThrow(/neither 'read' nor 'read-write'/)
  })
})
