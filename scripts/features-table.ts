/** `npm run features`: writes the table of backends and their declared features into README.md. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { BackendFeatures } from '@cofferdam/core'
import { declaredFeatures } from './declared-features.js'

const readmeFile = fileURLToPath(new URL('../README.md', import.meta.url))
const place = /(<!-- features -->\n)[^]*(<!-- \/features -->)/

/** What stands in a cell, for every feature. The type makes sure that none is forgotten. */
const rows: { readonly [Name in keyof BackendFeatures]: (value: BackendFeatures[Name]) => string } = {
  isolation: String,
  network: (kinds) => kinds.join(', '),
  tty: yesOrNo,
  killTree: String,
  fencing: yesOrNo,
  pause: yesOrNo,
  freeze: yesOrNo,
  ports: yesOrNo,
  limits: (limits) => names(limits).join(', ') || 'no',
  users: yesOrNo,
  bindMounts: yesOrNo,
  vaults: yesOrNo,
  reattach: yesOrNo,
  persistentWorkspace: yesOrNo,
  nativeSnapshot: yesOrNo,
  fork: yesOrNo,
  foldsCase: yesOrNo,
  byteNames: yesOrNo,
}

/** The table, as it stands between the marks of the README. */
export function featuresTable(backends: ReadonlyMap<string, BackendFeatures>): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`
  const head =
    line(['feature', ...[...backends.keys()].map((name) => `\`${name}\``)]) +
    line(['---', ...[...backends].map(() => '---')])
  const body = Object.entries(rows).map(([name, cell]) => {
    return line([
      name,
      ...[...backends.values()].map((features) => cell(features[name as keyof BackendFeatures] as never)),
    ])
  })
  return `\n${head}${body.join('')}\n`
}

/** The README with a table in the place of the old one. */
export function withTable(readme: string, table: string): string {
  if (!place.test(readme)) throw new TypeError('README.md has no <!-- features --> … <!-- /features -->')
  return readme.replace(place, (_, begin: string, end: string) => `${begin}${table}${end}`)
}

function yesOrNo(value: boolean): string {
  return value ? 'yes' : 'no'
}

function names(flags: object): string[] {
  return Object.entries(flags).flatMap(([name, on]) => (on === true ? [name] : []))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(readmeFile, withTable(readFileSync(readmeFile, 'utf8'), featuresTable(await declaredFeatures())))
}
