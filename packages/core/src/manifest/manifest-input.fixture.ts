import fc from 'fast-check'
import type { EntryInput } from './entry.js'
import type { EnvironmentInput, ManifestInput } from './manifest.js'

const name = fc.stringMatching(/^[A-Za-z0-9._ -]{1,8}$/).filter((text) => text !== '.' && text !== '..')
const odd = fc.constantFrom('__proto__', 'constructor', '0', '10', 'ünïcode', 'line\nbreak', '\udcff', 'a\\b', '%2e%2e')
const component = fc.oneof({ weight: 4, arbitrary: name }, { weight: 1, arbitrary: odd })
const mode = fc.oneof(fc.nat({ max: 0o777 }), fc.constantFrom('644', '0755', '000'))
const plain = fc.string({ maxLength: 20 })
const line = fc.stringMatching(/^[a-z][a-z ]{0,20}$/)

const options = fc.record(
  { description: line, ifUnsupported: fc.constantFrom('error' as const, 'skip' as const) },
  { requiredKeys: [] },
)
const contentOptions = fc.record(
  {
    description: line,
    ifUnsupported: fc.constantFrom('error' as const, 'skip' as const),
    ephemeral: fc.constant(true),
    owner: fc.constantFrom('ada', 'root'),
    onRestore: fc.constant('keep' as const),
  },
  { requiredKeys: [] },
)

function kind<T extends object, O extends object>(
  members: fc.Arbitrary<T>,
  more: fc.Arbitrary<O>,
): fc.Arbitrary<T & O> {
  return fc.tuple(members, more).map(([a, b]) => ({ ...a, ...b }))
}

const leaf: fc.Arbitrary<EntryInput> = fc.oneof(
  kind(
    fc.record({ kind: fc.constant('file' as const), text: plain, mode }, { requiredKeys: ['kind', 'text'] }),
    contentOptions,
  ),
  kind(
    fc.record({
      kind: fc.constant('file' as const),
      base64: fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes).toString('base64')),
    }),
    contentOptions,
  ),
  kind(
    fc.record({ kind: fc.constant('local_file' as const), source: line, mode }, { requiredKeys: ['kind', 'source'] }),
    contentOptions,
  ),
  kind(
    fc.record(
      { kind: fc.constant('local_dir' as const), source: line, exclude: fc.array(line, { maxLength: 2 }), mode },
      { requiredKeys: ['kind', 'source'] },
    ),
    contentOptions,
  ),
  kind(
    fc.record(
      {
        kind: fc.constant('git_repo' as const),
        url: fc.constantFrom('https://example.org/a.git', 'https://example.org/b'),
        ref: fc.constantFrom('main', 'v1.0', 'a/b'),
        depth: fc.nat(),
        subpath: fc.constantFrom('a', 'a/b', './a//b'),
        credentials: fc.record({ secret: line, user: fc.constant('me') }, { requiredKeys: ['secret'] }),
      },
      { requiredKeys: ['kind', 'url'] },
    ),
    contentOptions,
  ),
  kind(fc.record({ kind: fc.constant('git_repo' as const), path: line }), contentOptions),
  kind(
    fc.record({ kind: fc.constant('symlink' as const), target: fc.constantFrom('x', './y/z', '/workspace/x') }),
    contentOptions,
  ),
  kind(
    fc.record(
      { kind: fc.constant('projection' as const), source: line, roots: fc.constantFrom(['x'], ['x', 'y/z']) },
      { requiredKeys: ['kind'] },
    ),
    options,
  ),
)

const mount: fc.Arbitrary<EntryInput> = kind(
  fc.record(
    { kind: fc.constant('bind_mount' as const), source: line, readOnly: fc.boolean() },
    { requiredKeys: ['kind', 'source'] },
  ),
  options,
)

const { entries } = fc.letrec<{ entries: Record<string, EntryInput>; entry: EntryInput }>((tie) => ({
  entries: fc.dictionary(component, tie('entry'), { maxKeys: 4, depthIdentifier: 'manifest' }),
  entry: fc.oneof(
    { depthIdentifier: 'manifest', maxDepth: 3 },
    leaf,
    kind(
      fc.record({ kind: fc.constant('dir' as const), children: tie('entries'), mode }, { requiredKeys: ['kind'] }),
      contentOptions,
    ),
  ),
}))

const variable: fc.Arbitrary<EnvironmentInput> = fc.oneof(
  line,
  fc.record({ value: line, description: line }, { requiredKeys: ['value'] }),
  fc.record({ secret: line, description: line }, { requiredKeys: ['secret'] }),
)

/** Manifests as users may write them: nested or flat, with and without what is a default, with names of every sort. */
export function manifestInput(): fc.Arbitrary<ManifestInput> {
  return fc.record(
    {
      version: fc.constant(1 as const),
      entries: fc
        .tuple(entries, fc.option(mount, { nil: undefined }))
        .map(([some, one]) => (one === undefined ? some : { ...some, 'the mount': one })),
      environment: fc.dictionary(fc.stringMatching(/^[A-Z][A-Z0-9]{0,6}_X$/), variable, { maxKeys: 3 }),
      users: fc.uniqueArray(fc.constantFrom('ada', 'bob', 'eve'), { maxLength: 3 }),
      groups: fc.constantFrom([], ['staff'], [{ name: 'staff', ifUnsupported: 'skip' as const }]),
    },
    { requiredKeys: [] },
  )
}
