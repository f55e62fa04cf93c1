import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { MountPlan } from '../contracts/client.js'
import { parseManifest } from '../manifest/parse-manifest.js'
import type { PathGrant } from '../path/path-grant.js'
import { resolveMounts } from './resolve-mounts.js'

let place: string
let baseDir: string

beforeEach(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'cofferdam-mounts-')))
  baseDir = join(place, 'base')
  mkdirSync(join(baseDir, 'data'), { recursive: true })
  mkdirSync(join(place, 'shared/inner'), { recursive: true })
  symlinkSync(join(place, 'shared'), join(baseDir, 'link'))
})

afterEach(() => rmSync(place, { recursive: true }))

function mount(
  source: string,
  {
    readOnly = true,
    grants = [],
    bindMounts = true,
  }: { readOnly?: boolean; grants?: PathGrant[]; bindMounts?: boolean } = {},
): Promise<readonly MountPlan[]> {
  const manifest = parseManifest({ root: '/srv/work', entries: { 'a/m': { kind: 'bind_mount', source, readOnly } } })
  return resolveMounts(manifest, { hostAccess: { baseDir, grants }, features: { bindMounts } })
}

describe('resolveMounts', () => {
  it('gives real paths of what lies beneath the base directory, for reading', async () => {
    expect(await mount('data')).toEqual([{ source: join(baseDir, 'data'), target: '/srv/work/a/m', readOnly: true }])
  })

  it('mounts what is granted, and for writing only what is granted for writing', async () => {
    const grants: PathGrant[] = [{ path: join(place, 'shared'), access: 'read-write' }]
    expect(await mount('link/inner', { readOnly: false, grants })).toEqual([
      { source: join(place, 'shared/inner'), target: '/srv/work/a/m', readOnly: false },
    ])
    const narrowed: PathGrant[] = [...grants, { path: join(place, 'shared/inner'), access: 'read' }]
    await expect(mount('link/inner', { readOnly: false, grants: narrowed })).rejects.toMatchObject({
      code: 'path_denied',
    })
    await expect(mount('data', { readOnly: false })).rejects.toMatchObject({ code: 'path_denied' })
    const all: PathGrant[] = [{ path: baseDir, access: 'read-write' }]
    expect(await mount('data', { readOnly: false, grants: all })).toHaveLength(1)
  })

  it('mounts nothing else', async () => {
    for (const source of ['link', 'link/inner', '..', '../shared', place, '/']) {
      await expect(mount(source), source).rejects.toMatchObject({ code: 'path_escape' })
    }
    await expect(mount('nothing')).rejects.toMatchObject({ code: 'not_found' })
    await expect(mount('data', { bindMounts: false })).rejects.toMatchObject({ code: 'unsupported_feature' })
  })
})
