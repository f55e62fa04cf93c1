import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { BackendFeatures } from '../contracts/features.js'
import type { ManifestInput } from '../manifest/manifest.js'
import { manifestInput } from '../manifest/manifest-input.fixture.js'
import { parseManifest } from '../manifest/parse-manifest.js'
import { planMaterialization } from './materialize-plan.js'
import type { MaterializeSelect } from './materialize-plan.js'

const everything: BackendFeatures = {
  isolation: 'container',
  network: ['none', 'open'],
  tty: true,
  killTree: 'proven',
  fencing: true,
  pause: true,
  freeze: true,
  ports: true,
  limits: { memory: true, cpu: true, pids: true, disk: true },
  users: true,
  bindMounts: true,
  vaults: true,
  reattach: true,
  persistentWorkspace: true,
  nativeSnapshot: true,
  fork: true,
  foldsCase: false,
  byteNames: true,
}

const manifest: ManifestInput = {
  entries: {
    tmp: { kind: 'dir', ephemeral: true },
    'tmp/x': { kind: 'file', text: '' },
    repo: { kind: 'git_repo', path: 'r' },
    'repo/.env': { kind: 'file', text: '', onRestore: 'overwrite' },
    'repo/src/cfg': { kind: 'dir', onRestore: 'overwrite' },
    notes: { kind: 'file', text: '' },
    data: { kind: 'bind_mount', source: 'd' },
    p: { kind: 'projection' },
  },
}

describe('planMaterialization', () => {
  it.each<[select: MaterializeSelect, steps: string[]]>([
    ['all', ['notes replace', 'repo merge', 'repo/.env replace', 'repo/src/cfg merge', 'tmp merge', 'tmp/x replace']],
    ['ephemeral', ['tmp replace', 'tmp/x replace']],
    ['missing', ['notes keep', 'repo keep', 'repo/.env replace', 'repo/src/cfg merge', 'tmp replace', 'tmp/x replace']],
  ])('%s', (select, expected) => {
    const { steps, unsupported } = planMaterialization(parseManifest(manifest), select, everything)
    expect(steps.map(({ path, whenPresent }) => `${path} ${whenPresent}`)).toEqual(expected)
    expect(unsupported).toEqual([])
    const within = steps.filter(({ path }) => path.startsWith('repo/')).map((step) => step.within)
    expect(within.every((paths) => paths.length === 1 && paths[0] === 'repo')).toBe(true)
  })

  it('knows what a backend cannot do before anything is done', () => {
    const input: ManifestInput = {
      entries: {
        mine: { kind: 'file', text: '', owner: 'ada', ifUnsupported: 'skip' },
        '\udcff': { kind: 'file', text: '' },
        data: { kind: 'bind_mount', source: 'd', ifUnsupported: 'skip' },
        ada: { kind: 'file', text: '' },
      },
      users: ['ada'],
    }
    const features = { ...everything, users: false, bindMounts: false, byteNames: false }
    const { steps, unsupported } = planMaterialization(parseManifest(input), 'all', features)
    expect(unsupported.map(({ path, kind, feature, ifUnsupported }) => [path, kind, feature, ifUnsupported])).toEqual([
      ['ada', 'user', 'users', 'error'],
      ['data', 'bind_mount', 'bindMounts', 'skip'],
      ['mine', 'file', 'users', 'skip'],
      ['\udcff', 'file', 'byteNames', 'error'],
    ])
    expect(steps.map(({ path }) => path)).toEqual(['ada'])
  })

  it('puts parents first, whatever the manifest, and is the same every time', () => {
    const hold = fc.property(manifestInput(), (input) => {
      const { steps } = planMaterialization(parseManifest(input), 'all', everything)
      const seen = new Set<string>()
      for (const { path } of steps) {
        expect([...seen].some((earlier) => earlier.startsWith(`${path}/`))).toBe(false)
        seen.add(path)
      }
      const again = planMaterialization(
        parseManifest(JSON.parse(JSON.stringify(input)) as ManifestInput),
        'all',
        everything,
      )
      expect(again.steps).toEqual(steps)
    })
    fc.assert(hold)
  })
})
