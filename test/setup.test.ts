import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
let clone = ''

beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), 'cofferdam-setup-'))
  mkdirSync(join(clone, 'scripts'))
  for (const file of ['package.json', 'pnpm-lock.yaml', 'scripts/setup.mjs'])
    cpSync(join(root, file), join(clone, file))
})

afterEach(() => rmSync(clone, { recursive: true, force: true }))

describe('setup in a fresh clone', () => {
  it('says in one line that the registry cannot be reached', async () => {
    const registry = `http://127.0.0.1:${await findClosedPort()}`
    const { status, stderr, stdout } = runSetup({ npm_config_registry: registry })
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringMatching(/^Cannot reach the npm registry.*\n$/),
    })
    expect(stdout).toMatch(/^Installing the dependencies with pnpm@\d+\.\d+\.\d+ into .*\n$/)
    expect(existsSync(join(clone, 'node_modules', '.cofferdam-installed'))).toBe(false)
  })

  it('says in one line that Node is too old', () => {
    const packageJson = join(clone, 'package.json')
    writeFileSync(packageJson, readFileSync(packageJson, 'utf8').replace('>=20.19', '>=99.1'))
    const { status, stderr, stdout } = runSetup({})
    const message = `Node ${process.versions.node} is too old: Cofferdam needs Node >=99.1.\n`
    expect({ status, stderr, stdout }).toEqual({ status: 1, stderr: message, stdout: '' })
  })
})

function runSetup(environment: Readonly<Record<string, string>>): ReturnType<typeof spawnSync> {
  const cache = join(clone, 'cache')
  return spawnSync(process.execPath, ['scripts/setup.mjs'], {
    cwd: clone,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: clone, npm_config_cache: cache, XDG_DATA_HOME: cache, ...environment },
  })
}

async function findClosedPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}
