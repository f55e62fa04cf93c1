import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { declaredFeatures } from '../scripts/declared-features.js'
import { featuresTable, withTable } from '../scripts/features-table.js'

const readme = readFileSync(fileURLToPath(new URL('../README.md', import.meta.url)), 'utf8')

// The table is that of Linux: elsewhere some declarations differ, which is their point.
it.runIf(process.platform === 'linux')(
  'shows in the README what the backends declare; `npm run features` writes it',
  async () => {
    expect(withTable(readme, featuresTable(await declaredFeatures()))).toBe(readme)
  },
)

it('has a row for every feature and a column for every backend', async () => {
  const backends = await declaredFeatures()
  expect([...backends.keys()]).toEqual(['local', 'memory'])
  const [head = '', , ...rows] = featuresTable(backends).trim().split('\n')
  expect(head).toBe('| feature | `local` | `memory` |')
  for (const features of backends.values()) {
    expect(rows.map((row) => row.split(' | ')[0]?.slice(2)).sort()).toEqual(Object.keys(features).sort())
  }
})
