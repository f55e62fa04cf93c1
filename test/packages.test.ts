import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { readSources } from './architecture/read-sources.js'

interface PackageJson {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly type: string
  readonly private?: boolean
  readonly sideEffects?: boolean
  readonly engines?: Readonly<Record<string, string>>
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

const root = fileURLToPath(new URL('..', import.meta.url))
const published = readdirSync(join(root, 'packages')).map((name) => `packages/${name}`)
const rootJson = readJson('')

describe.each([...published, 'examples', 'bench'])('%s', (folder) => {
  const json = readJson(folder)

  it('takes every version from the catalog or the workspace', () => {
    const { dependencies, optionalDependencies, devDependencies } = json
    const versions = Object.entries({ ...dependencies, ...optionalDependencies, ...devDependencies })
    const wanted = versions.map(([name]) => [name, name.startsWith('@cofferdam/') ? 'workspace:*' : 'catalog:'])
    expect(versions).toEqual(wanted)
  })

  it('uses every dependency that it declares', () => {
    const used = new Set(readSources(root, folder).flatMap(({ imports }) => imports.map(packageName)))
    const { dependencies, optionalDependencies, peerDependencies } = json
    const declared = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })
    expect(declared.filter((name) => !used.has(name))).toEqual([])
  })

  it('is ESM, under the license and the version of the project', () => {
    const { type, license, version } = json
    expect({ type, license, version }).toEqual({ type: 'module', license: rootJson.license, version: rootJson.version })
  })
})

describe.each(published)('%s, published', (folder) => {
  const json = readJson(folder)

  it('exports source, types and code of files that exist, in this order', () => {
    for (const [entry, target] of Object.entries(json.exports ?? {})) {
      if (entry === './package.json') continue
      const file = entry === '.' ? 'index' : entry.slice(2)
      expect(Object.entries(target)).toEqual([
        ['@cofferdam/source', `./src/${file}.ts`],
        ['types', `./dist/${file}.d.ts`],
        ['default', `./dist/${file}.js`],
      ])
      expect(existsSync(join(root, folder, 'src', `${file}.ts`)), `${folder}/src/${file}.ts`).toBe(true)
    }
    expect(Object.keys(json.exports ?? {})).toEqual(expect.arrayContaining(['.', './package.json']))
  })

  it('is named after its folder, runs on the same Node and is built with the rest', () => {
    expect(json.name).toBe(`@cofferdam/${folder.slice('packages/'.length)}`)
    expect(json.engines).toEqual(rootJson.engines)
    expect(json.sideEffects).toBe(false)
    expect(json.private).toBeUndefined()
    expect(read('tsconfig.build.json')).toContain(`"${folder}/tsconfig.build.json"`)
  })
})

it('has a lockfile that names no registry', () => {
  expect(read('pnpm-lock.yaml')).not.toMatch(/https?:\/\/|tarball:/)
})

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

function readJson(folder: string): PackageJson {
  return JSON.parse(read(join(folder, 'package.json'))) as PackageJson
}

function packageName(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}
