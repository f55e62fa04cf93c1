import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { coreFloors, packageFloors } from './architecture/check-imports.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const text = readFileSync(`${root}/docs/architecture.md`, 'utf8')

it('draws the floors of the packages as the rules have them', () => {
  const drawn = readFloors('packages').flatMap(({ floor, names }) => names.map((name) => [plain(name), floor] as const))
  expect(Object.fromEntries(drawn)).toEqual(packageFloors)
  expect(drawn).toHaveLength(Object.keys(packageFloors).length)
})

it('draws the floors of core as the rules have them', () => {
  const drawn = readFloors('core').sort((a, b) => a.floor - b.floor)
  expect(drawn.map(({ names }) => names.map(plain).sort())).toEqual(coreFloors.map((names) => [...names].sort()))
  expect(drawn.map(({ floor }) => floor)).toEqual(coreFloors.map((_, floor) => floor))
})

it.each(['packages', 'core'])('puts what is not there yet in parentheses: %s', (picture) => {
  const folder = picture === 'core' ? 'packages/core/src' : 'packages'
  const names = readFloors(picture).flatMap((line) => line.names)
  expect(names.filter((name) => name.startsWith('(')).map(plain)).toEqual(
    names.map(plain).filter((name) => !existsSync(`${root}/${folder}/${name}`)),
  )
})

/** The lines of the block below `<!-- floors: name -->`: a number, then names. */
function readFloors(picture: string): Array<{ floor: number; names: string[] }> {
  const block = new RegExp(`<!-- floors: ${picture} -->\\s+\`\`\`text\\n([^\`]+)\`\`\``).exec(text)?.[1]
  if (block === undefined) expect.fail(`docs/architecture.md has no picture of the floors of ${picture}`)
  return block
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .map(([floor, ...names]) => ({ floor: Number(floor), names }))
}

function plain(name: string): string {
  return name.replace(/^\((.*)\)$/, '$1')
}
