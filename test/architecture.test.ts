import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { checkImports } from './architecture/check-imports.js'
import { findImports, readManifest, readSources, type PackageManifest } from './architecture/read-sources.js'

const root = fileURLToPath(new URL('..', import.meta.url))

describe('architecture', () => {
  it('has every import on its floor, declared and through the front door, and no cycle', () => {
    const folders = readdirSync(`${root}/packages`).map((name) => `packages/${name}`)
    const violations = checkImports({
      root: readManifest(root, ''),
      packages: folders.map((folder) => readManifest(root, folder)),
      sources: readSources(root, 'packages'),
    })
    expect(violations).toEqual([])
  })
})

describe('checkImports', () => {
  const core = 'packages/core/src'
  const local = 'packages/backend-local/src'

  it.each<[rule: string, path: string, imports: string[], message: RegExp]>([
    ['core knows no backend', `${core}/session/x.ts`, ['@cofferdam/backend-local'], /floor 1\) imports .*floor 3\)/],
    [
      'backends do not know each other',
      `${local}/x.ts`,
      ['@cofferdam/backend-docker'],
      /floor 3\) imports .*floor 3\)/,
    ],
    [
      'core looks downwards',
      `${core}/path/x.ts`,
      ['../manifest/y.js'],
      /path \(floor 1\) imports manifest \(floor 2\)/,
    ],
    [
      'no concept imports an entry file',
      `${core}/store/x.ts`,
      ['../index.js'],
      /floor 5\) imports index.ts \(floor 7\)/,
    ],
    ['siblings are strangers', `${core}/session/x.ts`, ['../store/y.js'], /its sibling on floor 5/],
    ['every concept has a floor', `${core}/novelty/x.ts`, [], /'novelty' has no floor/],
    ['contracts import contracts', `${core}/contracts/x.ts`, ['../archive/y.js'], /a contract imports/],
    ['contracts import no runtime', `${core}/contracts/x.ts`, ['node:fs'], /a contract imports 'node:fs'/],
    [
      'what is imported is declared',
      `${local}/x.ts`,
      ['left-pad'],
      /'left-pad', which its package.json does not declare/,
    ],
    ['built-in modules say so', `${local}/x.ts`, ['fs'], /'fs', which its package.json does not declare/],
    ['packages keep their internals', `${local}/x.ts`, ['@cofferdam/core/src/path/y.js'], /not among its exports/],
    ['packages are imported by name', `${local}/x.ts`, ['../../core/src/index.js'], /leaves the package/],
    ['nobody imports itself by name', `${core}/run/x.ts`, ['@cofferdam/core'], /its own package by name/],
    ['tsyringe has one door', `${core}/run/x.ts`, ['tsyringe'], /only packages\/core\/src\/di\/.* may know 'tsyringe'/],
    ['node-pty has one door', `${local}/x.ts`, ['@lydell/node-pty'], /may know '@lydell\/node-pty'/],
    ['a file cannot import itself', `${core}/run/x.ts`, ['./x.js'], /cycle: .*x\.ts → .*x\.ts/],
    ['names say something', `${core}/run/string-utils.ts`, [], /'string-utils\.ts' says nothing/],
    ['folder names too', `${core}/session/helpers/x.ts`, [], /'helpers' says nothing/],
    ['tests declare what they use', `${core}/run/x.test.ts`, ['left-pad'], /neither its package.json nor the root's/],
    [
      'tests keep out of internals',
      `${core}/run/x.test.ts`,
      ['@cofferdam/backend-local/src/y.js'],
      /not among its exports/,
    ],
  ])('%s', (_rule, path, imports, message) => {
    expect(check({ path, imports })).toEqual([expect.stringMatching(message)])
  })

  it('finds a cycle of several files, once', () => {
    const cycle = check(
      { path: `${core}/run/a.ts`, imports: ['./b.js'] },
      { path: `${core}/run/b.ts`, imports: ['../acquire/c.js'] },
      { path: `${core}/acquire/c.ts`, imports: ['../run/a.js'] },
    )
    expect(cycle).toEqual([`cycle: ${core}/run/a.ts → ${core}/run/b.ts → ${core}/acquire/c.ts → ${core}/run/a.ts`])
  })

  it('finds a foreign package that two files know', () => {
    const imports = ['ignore']
    expect(check({ path: `${core}/path/a.ts`, imports })).toEqual([])
    const violations = check({ path: `${core}/path/a.ts`, imports }, { path: `${core}/store/b.ts`, imports })
    expect(violations).toEqual([expect.stringContaining("'ignore' is known in more than one file")])
  })

  it('lets tests look upwards and at the development dependencies', () => {
    const imports = ['../index.js', '@cofferdam/backend-local', '@cofferdam/core', 'vitest', 'node:fs']
    expect(check({ path: `${core}/path/x.test.ts`, imports })).toEqual([])
  })

  it('sees imports of every form', () => {
    const text = `import a from 'a'; import type { B } from 'b'; export { c } from 'c'; export type { D } from 'd'
      const e = await import('e'); type F = import('f').F; import 'g'; const no = "from 'h'"`
    expect(findImports('x.ts', text)).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g'])
  })
})

function check(...sources: Array<{ path: string; imports: string[] }>): string[] {
  const everything = ['@cofferdam/core', '@cofferdam/backend-local', '@cofferdam/backend-docker']
  const manifest = (name: string, dependencies: string[]): PackageManifest => ({
    name: `@cofferdam/${name}`,
    folder: `packages/${name}`,
    entries: new Map([['.', `packages/${name}/src/index.ts`]]),
    dependencies: new Set(dependencies),
    devDependencies: new Set(),
  })
  const packages = [
    manifest('core', ['zod', 'tsyringe', 'ignore', ...everything]),
    manifest('backend-local', ['@lydell/node-pty', ...everything]),
    manifest('backend-docker', everything),
  ]
  const root = { ...manifest('', []), folder: '', devDependencies: new Set(['vitest', ...everything]) }
  return checkImports({ root, packages, sources })
}
