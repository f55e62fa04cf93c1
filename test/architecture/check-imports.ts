import { posix } from 'node:path'
import type { PackageManifest, SourceFile } from './read-sources.js'

// ── The rules. docs/architecture.md draws the same picture. ──

/** A package imports packages on lower floors only. */
export const packageFloors: Readonly<Record<string, number>> = {
  cli: 5,
  adapters: 4,
  testkit: 4,
  'backend-local': 3,
  'backend-docker': 3,
  'backend-k8s': 3,
  resident: 2,
  capabilities: 2,
  'store-redis': 2,
  'store-s3': 2,
  core: 1,
}

/** Inside core: a concept imports its own floor and the ones below. */
export const coreFloors: ReadonlyArray<readonly string[]> = [
  ['errors', 'failpoint.ts'],
  ['path', 'archive', 'match', 'redact'],
  ['manifest'],
  ['contracts'],
  ['di', 'plugin', 'capability', 'host-files', 'observe'],
  ['workspace', 'snapshot', 'store', 'session'],
  ['acquire', 'run', 'runtime'],
  ['host', 'index.ts', 'plugin.ts', 'tsyringe.ts', 'host-files.ts', 'archive.ts', 'path.ts'],
]
/** On this floor of core the concepts do not know each other. */
const siblingFloor = 5
const contractsMayImport: ReadonlySet<string> = new Set(['errors', 'path', 'manifest', 'contracts'])

/** Foreign packages which only these places know; `'one file'`: a single file, wherever it is. */
const foreignDoors: Readonly<Record<string, readonly string[] | 'one file'>> = {
  tsyringe: ['packages/core/src/di/', 'packages/core/src/tsyringe.ts'],
  'reflect-metadata': ['packages/core/src/di/', 'packages/core/src/tsyringe.ts'],
  '@lydell/node-pty': ['packages/backend-local/src/pty'],
  ignore: 'one file',
}

const namesThatSayNothing = /^(utils?|helpers?|common|shared|types|misc)([.-]|$)|[.-](utils?|helpers?|types)(\.|$)/

// ── The check. ──

interface Repository {
  readonly root: PackageManifest
  readonly packages: readonly PackageManifest[]
  readonly sources: readonly SourceFile[]
}

/** One line for each import that breaks a rule, each file badly named, each cycle. Empty: all is well. */
export function checkImports(repository: Repository): string[] {
  const sources = repository.sources.filter(({ path }) => path.startsWith('packages/'))
  const graph = new Map<string, string[]>()
  const doors = new Map<string, Set<string>>()
  const violations = sources.flatMap((source) => checkName(source.path))
  for (const source of sources) {
    const owner = repository.packages.find(({ folder }) => source.path.startsWith(`${folder}/`))
    if (owner === undefined) violations.push(`${source.path}: belongs to no package`)
    else if (isForTests(source.path)) violations.push(...checkTestImports(source, owner, repository))
    else {
      const targets: string[] = []
      for (const specifier of source.imports) {
        const { target, problem } = resolve(specifier, source.path, owner, repository)
        if (problem !== undefined) violations.push(`${source.path}: ${problem}`)
        if (target === undefined) continue
        if (target.startsWith('npm:')) violations.push(...checkDoor(source.path, target.slice(4), doors))
        else {
          targets.push(target)
          violations.push(...checkCoreFloor(source.path, target))
        }
      }
      violations.push(...checkCoreFloor(source.path, source.path))
      violations.push(...checkContracts(source))
      graph.set(source.path, targets)
    }
  }
  return [...violations, ...checkOneFileDoors(doors), ...findCycles(graph)]
}

/** Tests, and programs which only tests start, may look upwards and may use the development dependencies. */
function isForTests(path: string): boolean {
  return /\.(test|driver|fixture)\.ts$/.test(path) || /^packages\/[^/]+\/test\//.test(path)
}

function checkName(path: string): string[] {
  const poor = path
    .split('/')
    .slice(2)
    .find((part) => namesThatSayNothing.test(part))
  return poor === undefined ? [] : [`${path}: '${poor}' says nothing; name it for what it does`]
}

function checkTestImports(source: SourceFile, owner: PackageManifest, { root, packages }: Repository): string[] {
  const allowed = [owner.dependencies, owner.devDependencies, root.devDependencies]
  return source.imports.flatMap((specifier) => {
    const foreign = packageName(specifier)
    if (foreign === undefined || foreign === owner.name || allowed.some((names) => names.has(foreign))) {
      const problem = relativeProblem(specifier, source.path, owner) ?? internalsProblem(specifier, packages)
      return problem === undefined ? [] : `${source.path}: ${problem}`
    }
    return `${source.path}: imports '${foreign}', which neither its package.json nor the root's declares`
  })
}

interface Resolution {
  /** A source file of the repository, or `npm:<package>`. */
  readonly target?: string
  readonly problem?: string
}

function resolve(specifier: string, from: string, owner: PackageManifest, { packages }: Repository): Resolution {
  if (specifier.startsWith('node:')) return {}
  const foreign = packageName(specifier)
  if (foreign === undefined) {
    const problem = relativeProblem(specifier, from, owner)
    return problem === undefined ? { target: sourceBehind(specifier, from) } : { problem }
  }
  if (foreign === owner.name) return { problem: `imports its own package by name ('${specifier}')` }
  if (!owner.dependencies.has(foreign))
    return { problem: `imports '${foreign}', which its package.json does not declare` }
  const other = packages.find(({ name }) => name === foreign)
  if (other === undefined) return { target: `npm:${foreign}` }
  const problem = internalsProblem(specifier, packages) ?? packageFloorProblem(owner, other)
  return problem === undefined ? { target: entryBehind(specifier, other) ?? '' } : { problem }
}

/** `zod/v4` → `zod`, `@a/b/c` → `@a/b`; undefined for relative and built-in specifiers. */
function packageName(specifier: string): string | undefined {
  if (specifier.startsWith('.') || specifier.startsWith('node:')) return undefined
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

function sourceBehind(specifier: string, from: string): string {
  return posix.join(posix.dirname(from), specifier).replace(/\.js$/, '.ts')
}

function entryBehind(specifier: string, { name, entries }: PackageManifest): string | undefined {
  return entries.get(`.${specifier.slice(name.length)}`)
}

function relativeProblem(specifier: string, from: string, owner: PackageManifest): string | undefined {
  if (!specifier.startsWith('.') || sourceBehind(specifier, from).startsWith(`${owner.folder}/`)) return undefined
  return `'${specifier}' leaves the package; import it by name`
}

function internalsProblem(specifier: string, packages: readonly PackageManifest[]): string | undefined {
  const other = packages.find(({ name }) => name === packageName(specifier))
  if (other === undefined || entryBehind(specifier, other) !== undefined) return undefined
  return `'${specifier}' reaches into ${other.name}; it is not among its exports`
}

function packageFloorProblem(owner: PackageManifest, other: PackageManifest): string | undefined {
  const [own, wanted] = [owner, other].map(({ folder }) => packageFloors[posix.basename(folder)])
  if (own === undefined || wanted === undefined) return `${owner.name} or ${other.name} has no floor`
  return wanted < own ? undefined : `${owner.name} (floor ${own}) imports ${other.name} (floor ${wanted})`
}

/** `packages/core/src/session/x.ts` → `session`, `packages/core/src/plugin.ts` → `plugin.ts`. */
function coreConcept(path: string): string | undefined {
  return /^packages\/core\/src\/([^/]+)/.exec(path)?.[1]
}

function checkCoreFloor(from: string, to: string): string[] {
  const [concept, wanted] = [coreConcept(from), coreConcept(to)]
  if (concept === undefined || wanted === undefined) return []
  const [own, below] = [concept, wanted].map((name) => coreFloors.findIndex((floor) => floor.includes(name)))
  if (own === -1) return from === to ? [`${from}: '${concept}' has no floor in core`] : []
  if (own === undefined || below === undefined || below === -1) return []
  const strangers = own === siblingFloor && below === siblingFloor && concept !== wanted
  if (below > own) return [`${from}: ${concept} (floor ${own}) imports ${wanted} (floor ${below})`]
  return strangers ? [`${from}: ${concept} imports ${wanted}, its sibling on floor ${siblingFloor}`] : []
}

function checkContracts({ path, imports }: SourceFile): string[] {
  if (coreConcept(path) !== 'contracts') return []
  return imports.flatMap((specifier) => {
    const concept = coreConcept(specifier.startsWith('.') ? sourceBehind(specifier, path) : '')
    const fine = concept === undefined ? specifier === 'zod' : contractsMayImport.has(concept)
    return fine ? [] : [`${path}: a contract imports '${specifier}'`]
  })
}

function checkDoor(path: string, foreign: string, doors: Map<string, Set<string>>): string[] {
  const door = foreignDoors[foreign]
  if (door === undefined) return []
  if (door !== 'one file') {
    return door.some((place) => path.startsWith(place))
      ? []
      : [`${path}: only ${door.join(', ')} may know '${foreign}'`]
  }
  doors.set(foreign, (doors.get(foreign) ?? new Set()).add(path))
  return []
}

function checkOneFileDoors(doors: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const crowded = [...doors].filter(([, paths]) => paths.size > 1)
  return crowded.map(([foreign, paths]) => `'${foreign}' is known in more than one file: ${[...paths].join(', ')}`)
}

/** Each cycle once, as `a.ts → b.ts → a.ts`. */
function findCycles(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const cycles: string[] = []
  const done = new Set<string>()
  const visit = (file: string, trail: readonly string[]): void => {
    const start = trail.indexOf(file)
    if (start !== -1) cycles.push(`cycle: ${[...trail.slice(start), file].join(' → ')}`)
    if (start !== -1 || done.has(file)) return
    for (const next of graph.get(file) ?? []) visit(next, [...trail, file])
    done.add(file)
  }
  for (const file of graph.keys()) visit(file, [])
  return cycles
}
