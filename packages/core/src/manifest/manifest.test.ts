import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isSandboxError } from '../errors/sandbox-error.js'
import { diffManifests } from './diff-manifests.js'
import { findEntry, listEntries } from './list-entries.js'
import type { Manifest, ManifestInput } from './manifest.js'
import { manifestInput } from './manifest-input.fixture.js'
import { manifestToJson } from './manifest-json.js'
import { caseFoldCollisions, ephemeralPaths, mountPaths, mountPlans, snapshotExcludes } from './manifest-paths.js'
import { emptyManifest, parseManifest } from './parse-manifest.js'

describe('parseManifest', () => {
  it('fills in every default', () => {
    const manifest = parseManifest({
      entries: {
        'a.txt': { kind: 'file', text: 'a' },
        d: { kind: 'dir' },
        r: { kind: 'git_repo', url: 'https://example.org/r.git' },
        p: { kind: 'projection' },
        m: { kind: 'bind_mount', source: 'data' },
      },
      environment: { A: 'b' },
      users: ['ada'],
    })
    const content = { ephemeral: false, ifUnsupported: 'error', onRestore: 'keep' }
    expect(manifest).toEqual({
      version: 1,
      root: '/workspace',
      entries: {
        'a.txt': { kind: 'file', text: 'a', mode: 0o644, ...content },
        d: { kind: 'dir', mode: 0o755, ...content },
        r: { kind: 'git_repo', url: 'https://example.org/r.git', depth: 1, mode: 0o755, ...content },
        p: {
          kind: 'projection',
          source: '.',
          roots: ['AGENTS.md', 'skills', 'subagents', 'knowledge'],
          ifUnsupported: 'error',
        },
        m: { kind: 'bind_mount', source: 'data', readOnly: true, ifUnsupported: 'error' },
      },
      environment: { A: { value: 'b' } },
      users: [{ name: 'ada', ifUnsupported: 'error' }],
      groups: [],
    })
  })

  it('makes nested entries flat, normalises paths and hands ephemeral down', () => {
    const manifest = parseManifest({
      entries: {
        './src//': {
          kind: 'dir',
          ephemeral: true,
          children: { 'lib/./x.ts': { kind: 'file', text: '' }, sub: { kind: 'dir', children: {} } },
        },
      },
    })
    expect(listEntries(manifest).map(({ path }) => path)).toEqual(['src', 'src/lib/x.ts', 'src/sub'])
    expect(ephemeralPaths(manifest)).toEqual(['src', 'src/lib/x.ts', 'src/sub'])
  })

  it('freezes what it returns, keeps nothing of the input, and returns it again as it is', () => {
    const entry = { kind: 'file' as const, text: 'before' }
    const manifest = parseManifest({ entries: { a: entry } })
    entry.text = 'after'
    expect(findEntry(manifest, 'a')).toMatchObject({ text: 'before' })
    expect(() => Object.assign(manifest.entries, { b: {} })).toThrow(TypeError)
    expect(() => Object.assign(findEntry(manifest, 'a')!, { text: 'x' })).toThrow(TypeError)
    expect(parseManifest(manifest)).toBe(manifest)
    expect(parseManifest({ ...manifest })).toEqual(manifest)
    expect(parseManifest({})).toEqual(emptyManifest)
  })

  it('takes names that objects have by themselves for what they are', () => {
    const entries = JSON.parse(
      '{"__proto__": {"kind":"file","text":""}, "constructor": {"kind":"file","text":""}}',
    ) as object
    const manifest = parseManifest({ entries } as ManifestInput)
    expect(listEntries(manifest).map(({ path }) => path)).toEqual(['__proto__', 'constructor'])
    expect(findEntry(parseManifest({}), 'constructor')).toBeUndefined()
  })

  it('says absolute link targets relative to the link, which holds wherever the workspace lies', () => {
    const manifest = parseManifest({
      root: '/srv/work',
      entries: {
        'a/b/link': { kind: 'symlink', target: '/srv/work/c//d' },
        up: { kind: 'symlink', target: 'a/../b' },
        root: { kind: 'symlink', target: '/srv/work/' },
      },
    })
    expect(findEntry(manifest, 'a/b/link')).toMatchObject({ target: '../../c/d' })
    expect(findEntry(manifest, 'up')).toMatchObject({ target: 'a/../b' })
    expect(findEntry(manifest, 'root')).toMatchObject({ target: '.' })
  })

  it('names all problems at once, and counts what is too much', () => {
    const entries = Object.fromEntries(Array.from({ length: 80 }, (_, i) => [`f${i}`, { kind: 'nothing' }]))
    const problems = problemsOf({ entries, verison: 1 })
    expect(problems).toHaveLength(51)
    expect(problems.at(-1)).toBe('manifest: and 31 more problems')
  })

  it('never repeats a value', () => {
    const token = 'glpat-very-secret-token'
    const problems = problemsOf({
      entries: {
        a: { kind: 'git_repo', url: `https://me:${token}@example.org/x` },
        b: { kind: 'git_repo', url: token },
        c: { kind: token },
        d: { kind: 'file', base64: `${token}!`, mode: token },
      },
      environment: { X: { value: `${token}\0` }, Y: { secret: `${token}\n` }, Z: [token] },
      root: token,
      version: token,
    })
    expect(problems.length).toBeGreaterThanOrEqual(8)
    expect(problems.join('\n')).not.toContain(token)
  })
})

/** What is written, and the line that says what is wrong with it. */
const REFUSED: readonly (readonly [input: unknown, problem: string | RegExp])[] = [
  ['text', 'manifest: must be an object'],
  [[], 'manifest: must be an object'],
  [null, 'manifest: must be an object'],
  [{ version: 2 }, 'version: must be 1'],
  [{ verison: 1 }, "verison: is not known here; did you mean 'version'?"],
  [{ env: {} }, "env: is not known here; did you mean 'environment'?"],
  [{ whatever: 1 }, 'whatever: is not known here; known are version, root, entries, environment, users, groups'],
  [{ grants: [] }, /^grants: is not for a manifest: .* by the application, to createHost$/],
  [{ extra_path_grants: [] }, /^extra_path_grants: is not for a manifest/],
  [{ root: 'work' }, /^root: must be an absolute path/],
  [{ root: '/' }, /^root: must/],
  [{ root: '/a/../b' }, /^root: must not be '\/'/],
  [{ root: '/a b' }, /^root: must be an absolute path of letters/],
  [{ entries: [] }, 'entries: must be an object of paths and entries'],
  [{ entries: { a: 'text' } }, "entries.a: must be an object with a 'kind'"],
  [{ entries: { a: { kind: 'fiel' } } }, /^entries.a.kind: must be one of file, dir/],
  [{ entries: { a: { kind: 'constructor' } } }, /^entries.a.kind: must be one of/],
  [{ entries: { a: {} } }, /^entries.a.kind: is missing/],
  [{ entries: { a: { type: 'file', text: '' } } }, /^entries.a.kind: is missing.* called 'kind', not 'type'/],
  [entry({ kind: 'file' }), /^entries.src\/app.ts: needs exactly one of 'text' and 'base64'/],
  [entry({ kind: 'file', text: '', base64: '' }), /^entries.src\/app.ts: needs exactly one/],
  [entry({ kind: 'file', text: 5 }), 'entries.src/app.ts.text: must be text'],
  [entry({ kind: 'file', text: '\ud800' }), /^entries.src\/app.ts.text: holds half of a surrogate pair/],
  [entry({ kind: 'file', base64: 'a?b=' }), /^entries.src\/app.ts.base64: must be base64/],
  [entry({ kind: 'file', base64: 'aGk' + '====' }), /^entries.src\/app.ts.base64: must be base64/],
  [entry({ kind: 'file', text: '', mode: 644 }), /^entries.src\/app.ts.mode: must be permission bits .*not 644/],
  [entry({ kind: 'file', text: '', mode: '0888' }), /^entries.src\/app.ts.mode: must be permission bits/],
  [entry({ kind: 'file', text: '', mode: '4755' }), /^entries.src\/app.ts.mode: must be permission bits/],
  [entry({ kind: 'file', text: '', mode: 0.5 }), /^entries.src\/app.ts.mode: must be permission bits/],
  [entry({ kind: 'file', text: '', mode: true }), 'entries.src/app.ts.mode: must be a mode'],
  [entry({ kind: 'file', content: '' }), "entries.src/app.ts.content: is not known here; did you mean 'text'?"],
  [
    entry({ kind: 'file', text: '', if_unsupported: 'skip' }),
    "entries.src/app.ts.if_unsupported: is not known here; did you mean 'ifUnsupported'?",
  ],
  [
    entry({ kind: 'file', text: '', 'on-restore': 'keep' }),
    "entries.src/app.ts.on-restore: is not known here; did you mean 'onRestore'?",
  ],
  [entry({ kind: 'file', text: '', ephemral: true }), /did you mean 'ephemeral'\?$/],
  [entry({ kind: 'file', text: '', ephemeral: 'yes' }), 'entries.src/app.ts.ephemeral: must be true or false'],
  [entry({ kind: 'file', text: '', ifUnsupported: 'warn' }), /ifUnsupported: must be "error" or "skip"$/],
  [entry({ kind: 'file', text: '', onRestore: 'replace' }), /onRestore: must be "keep" or "overwrite"$/],
  [entry({ kind: 'file', text: '', owner: 'Root User' }), /owner: must be a name of lower-case letters/],
  [entry({ kind: 'file', text: '', description: 'two\nlines' }), /description: must be one line/],
  [entry({ kind: 'file', text: '', children: {} }), "entries.src/app.ts.children: is for kind 'dir', not 'file'"],
  [entry({ kind: 'dir', children: [] }), 'entries.src/app.ts.children: must be an object of paths and entries'],
  [entry({ kind: 'dir', entries: {} }), "entries.src/app.ts.entries: is not known here; did you mean 'children'?"],
  [entry({ kind: 'local_file' }), 'entries.src/app.ts.source: must be text'],
  [entry({ kind: 'local_file', src: 'x' }), /src: is not known here; did you mean 'source'\?$/],
  [entry({ kind: 'local_dir', source: '' }), /source: must be a host path/],
  [entry({ kind: 'local_dir', source: 'a\0b' }), /source: must be a host path/],
  [entry({ kind: 'local_dir', source: 'a', exclude: 'x' }), 'entries.src/app.ts.exclude: must be a list'],
  [entry({ kind: 'local_dir', source: 'a', exclude: ['x\ny'] }), /exclude.0: must be one pattern/],
  [entry({ kind: 'symlink', target: '' }), /target: must be a path/],
  [entry({ kind: 'symlink', target: '../../x' }), 'entries.src/app.ts.target: leads out of the workspace'],
  [entry({ kind: 'symlink', target: 'a/../../../x' }), 'entries.src/app.ts.target: leads out of the workspace'],
  [entry({ kind: 'symlink', target: '/etc/passwd' }), 'entries.src/app.ts.target: leads out of the workspace'],
  [entry({ kind: 'symlink', target: '/workspace/../etc' }), 'entries.src/app.ts.target: leads out of the workspace'],
  [entry({ kind: 'symlink', target: '/workspaces' }), 'entries.src/app.ts.target: leads out of the workspace'],
  [entry({ kind: 'git_repo' }), "entries.src/app.ts: needs exactly one of 'url' and 'path'"],
  [entry({ kind: 'git_repo', url: 'https://h/x', path: 'x' }), /needs exactly one of 'url' and 'path'/],
  [entry({ kind: 'git_repo', url: 'https://u:p@h/x' }), /url: carries credentials; name them/],
  [entry({ kind: 'git_repo', url: 'https://token@h/x' }), /url: carries credentials/],
  [entry({ kind: 'git_repo', url: 'ssh://git:p@h/x' }), /url: carries credentials/],
  [entry({ kind: 'git_repo', url: 'https://h/x?token=1' }), /url: may have no query/],
  [entry({ kind: 'git_repo', url: 'ext::sh -c whoami' }), /url: must be https/],
  [entry({ kind: 'git_repo', url: 'file:///etc' }), /url: must be https.*given as 'path'/],
  [entry({ kind: 'git_repo', url: '-oProxyCommand=x@h:y' }), /url: must be https/],
  [entry({ kind: 'git_repo', url: '--upload-pack=x' }), /url: must be https/],
  [entry({ kind: 'git_repo', url: 'https://h/x', ref: '--help' }), /ref: must be the name of a branch/],
  [entry({ kind: 'git_repo', url: 'https://h/x', ref: 'a..b' }), /ref: must be the name of a branch/],
  [entry({ kind: 'git_repo', url: 'https://h/x', depth: -1 }), 'entries.src/app.ts.depth: must be at least 0'],
  [entry({ kind: 'git_repo', url: 'https://h/x', depth: 1.5 }), 'entries.src/app.ts.depth: must be a whole number'],
  [entry({ kind: 'git_repo', url: 'https://h/x', subpath: '../x' }), /subpath: .*has a '\.\.'/],
  [entry({ kind: 'git_repo', url: 'https://h/x', credentials: 'tok' }), /credentials: must be an object/],
  [
    entry({ kind: 'git_repo', url: 'https://h/x', credentials: { password: 'p' } }),
    'entries.src/app.ts.credentials.password: is not known here',
  ],
  [
    entry({ kind: 'git_repo', url: 'http://h/x', credentials: { secret: 's' } }),
    /credentials: can be used with an https/,
  ],
  [entry({ kind: 'git_repo', path: 'x', credentials: { secret: 's' } }), /credentials: can be used with an https/],
  [entry({ kind: 'projection', roots: [] }), 'entries.src/app.ts.roots: must be at least 1 items long'],
  [entry({ kind: 'projection', roots: ['/etc'] }), /roots.0: .*is absolute/],
  [entry({ kind: 'projection', ephemeral: true }), /ephemeral: is not known here/],
  [entry({ kind: 'bind_mount', source: 'x', readonly: false }), /readonly: is not known here; did you mean 'readOnly'/],
  [entry({ kind: 'bind_mount', source: 'x', mode: '644' }), /mode: is not known here/],
  [{ entries: { '/etc/x': file() } }, /^entries.\/etc\/x: .*is absolute/],
  [{ entries: { '../x': file() } }, /^entries.\.\.\/x: .*has a '\.\.'/],
  [{ entries: { 'a/../../x': file() } }, /has a '\.\.'/],
  [{ entries: { 'a\0': file() } }, /^entries.a\\u0000: .*NUL/],
  [{ entries: { '': file() } }, /^entries.: .*empty/],
  [{ entries: { ['x'.repeat(256)]: file() } }, /255 bytes/],
  [{ entries: { d: { kind: 'dir', children: { '../x': file() } } } }, /^entries.d.children.\.\.\/x: .*has a '\.\.'/],
  [{ entries: { '.': file() } }, 'entries..: can only be local_dir, git_repo, projection'],
  [
    { entries: { '.': { kind: 'local_dir', source: 'x', ephemeral: true } } },
    /whole workspace: nothing would be saved$/,
  ],
  [
    { entries: { '.': { kind: 'local_dir', source: 'x', onRestore: 'overwrite' } } },
    /nothing of a snapshot would remain$/,
  ],
  [{ entries: { a: file(), './a': file() } }, "entries.a: is there twice, written 'a' and './a'"],
  [{ entries: { 'd/a': file(), d: { kind: 'dir', children: { a: file() } } } }, /^entries.d\/a: is there twice/],
  [
    { entries: { a: file(), 'a/b/c': file() } },
    "entries.a/b/c: lies beneath 'a', which is a file and can hold no entries",
  ],
  [{ entries: { a: { kind: 'symlink', target: 'b' }, 'a/b': file() } }, /lies beneath 'a', which is a symlink/],
  [{ entries: { a: { kind: 'bind_mount', source: 'x' }, 'a/b': file() } }, /lies beneath 'a', which is a bind_mount/],
  [
    { entries: { '.': { kind: 'projection' }, 'AGENTS.md': file() } },
    /^entries.AGENTS.md: lies where the projection '\.'/,
  ],
  [
    { entries: { p: { kind: 'projection' }, 'p/skills/x': file() } },
    /^entries.p\/skills\/x: lies where the projection 'p'/,
  ],
  [
    { entries: { '.': { kind: 'projection', roots: ['p/a/b'] }, p: { kind: 'projection', roots: ['a'] } } },
    /^entries.*: brings 'p\/a.*', which '.*' brings as well$/,
  ],
  [{ entries: { '.': { kind: 'projection', roots: ['a/b'] }, a: file() } }, /brings 'a\/b', which lies beneath 'a'/],
  [
    { entries: { d: { kind: 'dir', ephemeral: true }, 'd/a': { ...file(), ephemeral: false } } },
    "entries.d/a.ephemeral: cannot be false: it lies beneath 'd', which is ephemeral",
  ],
  [
    { entries: { d: { kind: 'dir', ephemeral: true }, 'd/m': { kind: 'bind_mount', source: 'x' } } },
    /mount beneath 'd'/,
  ],
  [
    { entries: { d: { kind: 'local_dir', source: 'y', owner: 'ada' }, 'd/m': { kind: 'bind_mount', source: 'x' } } },
    /is a mount beneath 'd', all of which is given to an owner/,
  ],
  [{ environment: [] }, 'environment: must be an object of names and values'],
  [{ environment: { '1A': '' } }, /^environment.1A: must be a name of letters/],
  [{ environment: { 'A=B': '' } }, /^environment.A=B: must be a name/],
  [{ environment: { A: 1 } }, 'environment.A: must be text: put it in quotes'],
  [{ environment: { A: null } }, /^environment.A: must be text or/],
  [{ environment: { A: 'x\0' } }, /^environment.A.value: must be text without NUL/],
  [{ environment: { A: {} } }, "environment.A: needs a 'value' or a 'secret'"],
  [{ environment: { A: { value: '', secret: 's' } } }, "environment.A: needs either 'value' or 'secret', not both"],
  [{ environment: { A: { value: '', ephemeral: true } } }, /^environment.A.ephemeral: is not known here: no value/],
  [{ environment: { A: { secret: '' } } }, /^environment.A.secret: must be the name of a secret/],
  [{ environment: { LD_PRELOAD: 'x.so' } }, /^environment.LD_PRELOAD: would load code into every program/],
  [{ environment: { COFFERDAM_X: '' } }, /^environment.COFFERDAM_X: begins with COFFERDAM_/],
  [{ environment: { A: 'x'.repeat(131_072) } }, /^environment.A: is 131074 bytes long/],
  [{ users: 'ada' }, /^users: must be a list/],
  [{ users: ['Ada'] }, /^users.0.name: must be a name of lower-case letters/],
  [{ users: ['ada', { name: 'ada' }] }, "users.1: 'ada' is there twice"],
  [{ groups: [{ name: 'staff', users: ['ada'] }] }, "groups.staff.users: 'ada' is not among the users"],
]

describe('what is refused', () => {
  it.each(REFUSED.map(([input, problem]) => ({ input, problem })))('$problem', ({ input, problem }) => {
    const problems = problemsOf(input)
    expect(problems).toContainEqual(typeof problem === 'string' ? problem : expect.stringMatching(problem))
  })
})

describe('manifestToJson', () => {
  it('is read back as an equal manifest, and equal manifests are written alike', () => {
    const hold = fc.property(manifestInput(), (input) => {
      const manifest = parseManifest(input)
      const text = JSON.stringify(manifestToJson(manifest))
      const again = parseManifest(JSON.parse(text) as ManifestInput)
      expect(again).toEqual(manifest)
      expect(JSON.stringify(manifestToJson(again))).toBe(text)
      expect(diffManifests(manifest, again).equal).toBe(true)
      expect(JSON.stringify(manifestToJson(parseManifest(reversed(input) as ManifestInput)))).toBe(text)
    })
    fc.assert(hold)
  })
})

describe('diffManifests', () => {
  it('tells apart what fills, what is projected, what is mounted and what is set', () => {
    const from = parseManifest({
      entries: {
        a: file(),
        b: file(),
        p: { kind: 'projection' },
        m: { kind: 'bind_mount', source: 'x' },
        gone: { kind: 'bind_mount', source: 'y' },
      },
      environment: { A: '1', B: { secret: 's' } },
    })
    const to = parseManifest({
      entries: {
        a: { kind: 'file', text: '', mode: '0644' },
        b: { kind: 'file', text: 'b' },
        c: file(),
        p: { kind: 'projection', roots: ['x'] },
        m: { kind: 'bind_mount', source: 'x', readOnly: false },
      },
      environment: { A: { value: '1' }, B: 's' },
      users: ['ada'],
    })
    expect(diffManifests(from, to)).toEqual({
      equal: false,
      rootChanged: false,
      entries: { added: ['c'], removed: [], changed: ['b'] },
      projections: { added: [], removed: [], changed: ['p'] },
      mounts: { added: [], removed: ['gone'], changed: ['m'] },
      environment: { added: [], removed: [], changed: ['B'] },
      users: { added: ['ada'], removed: [], changed: [] },
      groups: { added: [], removed: [], changed: [] },
    })
  })

  it('says the opposite the other way round', () => {
    const hold = fc.property(manifestInput(), manifestInput(), (a, b) => {
      const there = diffManifests(parseManifest(a), parseManifest(b))
      const back = diffManifests(parseManifest(b), parseManifest(a))
      expect(there.entries.added).toEqual(back.entries.removed)
      expect(there.mounts.changed).toEqual(back.mounts.changed)
      expect(there.environment.removed).toEqual(back.environment.added)
      expect(there.equal).toBe(back.equal)
    })
    fc.assert(hold)
  })
})

describe('what is where', () => {
  const manifest: Manifest = parseManifest({
    entries: {
      '.': { kind: 'projection' },
      data: { kind: 'bind_mount', source: '/srv/data', readOnly: false },
      tmp: { kind: 'dir', ephemeral: true, children: { 'deep/x': file() } },
      'src/.env': { kind: 'file', text: '', ephemeral: true },
      'src/main.ts': file(),
    },
  })

  it('leaves out of snapshots what is ephemeral, projected or mounted, each once', () => {
    const excluded = ['AGENTS.md', 'data', 'knowledge', 'skills', 'src/.env', 'subagents', 'tmp']
    expect(snapshotExcludes(manifest)).toEqual(excluded)
  })

  it('places mounts in the workspace, wherever the sandbox has it', () => {
    expect(mountPaths(manifest)).toEqual(['data'])
    expect(mountPlans(manifest)).toEqual([{ source: '/srv/data', target: '/workspace/data', readOnly: false }])
    expect(mountPlans(manifest, '/elsewhere/')[0]?.target).toBe('/elsewhere/data')
  })

  it('finds names that are one where case does not count, also of directories that no entry names', () => {
    expect(caseFoldCollisions(manifest)).toEqual([])
    const folding = parseManifest({ entries: { 'Src/a': file(), 'src/b': file(), é: file(), 'e\u0301': file() } })
    expect(caseFoldCollisions(folding)).toEqual([
      ['Src', 'src'],
      ['e\u0301', 'é'],
    ])
  })
})

function entry(value: object): unknown {
  return { entries: { 'src/app.ts': value } }
}

function file(): { readonly kind: 'file'; readonly text: string } {
  return { kind: 'file', text: '' }
}

function problemsOf(input: unknown): readonly string[] {
  try {
    parseManifest(input as ManifestInput)
  } catch (error) {
    if (isSandboxError(error, 'invalid_manifest')) return error.details.problems
    throw error
  }
  throw new TypeError('the manifest was accepted')
}

/** The same with every object's members the other way round. */
function reversed(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reversed(member)]),
  )
}
