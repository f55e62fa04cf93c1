import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const readme = readFileSync(`${root}/README.md`, 'utf8')

it('is short', () => {
  expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(150)
})

it('shows the whole first example, in about twelve lines', () => {
  const [, shown = ''] = /<!-- from examples\/01-first-sandbox\/main\.ts -->\n+```ts\n([^]*?)```/.exec(readme) ?? []
  expect(shown).toBe(readFileSync(`${root}/examples/01-first-sandbox/main.ts`, 'utf8'))
  expect(shown.trimEnd().split('\n').length).toBeLessThanOrEqual(12)
})

it('says plainly that the local backend confines nothing, as long as that is what it declares', () => {
  expect(/\| isolation \| none \|/.test(readme)).toBe(readme.includes('runs commands **unconfined**'))
})
