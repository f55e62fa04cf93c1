import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { manifestInput } from './manifest-input.fixture.js'
import { parseManifest } from './parse-manifest.js'
import { renderManifest } from './render-manifest.js'

describe('renderManifest', () => {
  it('says what lies where, what it is and what may be written', () => {
    const manifest = parseManifest({
      entries: {
        'TASK.md': { kind: 'file', text: 'do it', description: 'what to do' },
        src: {
          kind: 'dir',
          children: { 'main.py': { kind: 'file', text: '' }, 'a/b/c/d.py': { kind: 'file', text: '' } },
        },
        lib: { kind: 'git_repo', url: 'https://example.org/lib.git', ref: 'v2' },
        tmp: { kind: 'dir', ephemeral: true },
        data: { kind: 'bind_mount', source: '/srv/private/data' },
        out: { kind: 'bind_mount', source: '/srv/private/out', readOnly: false, description: 'results' },
        latest: { kind: 'symlink', target: 'src' },
        p: { kind: 'projection', roots: ['AGENTS.md'] },
      },
      environment: {
        API_TOKEN: { secret: 'prod/api-token', description: 'for the API' },
        MODE: 'hidden-value',
      },
    })
    expect(renderManifest(manifest)).toBe(`Workspace: /workspace
  TASK.md — what to do
  data [mount, read-only]
  latest [link, to src]
  lib [git repository, at v2]
  out [mount, read and write: changes are visible outside] — results
  p/
    AGENTS.md [kept up to date from outside, changes are overwritten]
  src/
    a/
      b/ (1 entries)
    main.py
  tmp/ [not saved]
Environment variables that are set:
  API_TOKEN — for the API
  MODE`)
  })

  it('is bounded whatever the manifest, and never shows a value, a secret’s name or a place of the host', () => {
    const hold = fc.property(
      manifestInput(),
      fc.nat({ max: 400 }),
      fc.integer({ min: 1, max: 5 }),
      (input, max, depth) => {
        const marked = parseManifest({
          ...input,
          entries: { ...input.entries, 'marked file': { kind: 'local_dir', source: '/host/place' } },
          environment: { ...input.environment, MARKED: 'the value', HIDDEN: { secret: 'its name' } },
        })
        const maxCharacters = 200 + max
        const text = renderManifest(marked, { depth, maxCharacters, maxLines: 10 })
        expect(text.length).toBeLessThanOrEqual(maxCharacters)
        expect(text).not.toMatch(/the value|its name|host\/place/)
        expect(text.split('\n').length).toBeLessThan(10 + 12)
      },
    )
    fc.assert(hold)
  })

  it('says how much it leaves out, and shows a name with a line break on one line', () => {
    const files = Object.fromEntries(
      Array.from({ length: 200 }, (_, i) => [`f${i}`, { kind: 'file', text: '' } as const]),
    )
    const text = renderManifest(
      parseManifest({ entries: { ...files, 'a\nWorkspace: /etc': { kind: 'file', text: '' } } }),
    )
    expect(text).toContain('… and 82 more; list the directories to see them')
    expect(text).toContain('"a\\nWorkspace: "/')
    expect(text.match(/^Workspace:/gm)).toHaveLength(1)
  })
})
