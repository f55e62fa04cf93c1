import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const config = `
  import { PlainReporter } from '${root}scripts/plain-reporter.js'
  export default { test: { include: ['*.check.ts'], reporters: ['default', new PlainReporter()] } }`
const imports = `import { beforeAll, describe, it } from 'vitest'\n`
let folder = ''

// Inside the repository, so that `vitest` resolves.
beforeEach(() => {
  mkdirSync(join(root, 'node_modules', '.cache'), { recursive: true })
  folder = mkdtempSync(join(root, 'node_modules', '.cache', 'plain-reporter-'))
  writeFileSync(join(folder, 'vitest.config.ts'), config)
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('PlainReporter', () => {
  it('ends with the counts, after the skipped tests and their reasons', () => {
    const { status, lines } = runVitest(`
      it('passes', () => {})
      it('fails', () => { throw new TypeError('no') })
      it('cannot here', (context) => context.skip('needs a moon'))
      it.skip('is off', () => {})`)
    expect(status).toBe(1)
    expect(lines.slice(-5)).toEqual([
      'Skipped:',
      '  a.check.ts > cannot here: needs a moon',
      '  a.check.ts > is off: no reason given',
      '',
      '1 passed, 1 failed, 2 skipped',
    ])
  })

  it.each([
    ['a file that does not load', `throw new TypeError('no')`, '0 passed, 1 failed, 0 skipped'],
    [
      'a hook that throws',
      `beforeAll(() => { throw new TypeError('no') }); it('x', () => {})`,
      '0 passed, 1 failed, 1 skipped',
    ],
    [
      'an error outside any test',
      `it('x', () => { void Promise.reject(new TypeError('no')) })`,
      '1 passed, 1 failed, 0 skipped',
    ],
  ])('counts %s as failed', (_name, text, last) => {
    const { status, lines } = runVitest(text)
    expect({ status, last: lines.at(-1) }).toEqual({ status: 1, last })
  })
})

function runVitest(text: string): { status: number | null; lines: string[] } {
  writeFileSync(join(folder, 'a.check.ts'), imports + text)
  const { COFFERDAM_TEST_COUNTS: _, ...env } = process.env
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const { status, stdout } = spawnSync(process.execPath, [vitest, 'run', '--root', folder], { encoding: 'utf8', env })
  return { status, lines: stdout.trimEnd().split('\n') }
}
