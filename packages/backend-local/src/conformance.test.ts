import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineTarget } from '@cofferdam/testkit'
import { describeConformance } from '@cofferdam/testkit/vitest'
import { openTestClient } from './open-client.fixture.js'
import { readEnvironment, readProcessTable } from './process/find-processes.js'

const root = realpathSync(mkdtempSync(join(tmpdir(), 'cofferdam-local-')))
mkdirSync(join(root, 'sandboxes'), { mode: 0o700 })

describeConformance(
  defineTarget({
    kind: 'backend',
    name: 'local',
    create: () => openTestClient(root),
    census: () => [
      ...readdirSync(join(root, 'sandboxes')).map((name) => `folder ${name}`),
      ...processesOf(root).map((line) => `process ${line}`),
    ],
    tearDown: () => rmSync(root, { recursive: true, force: true }),
  }),
)

/** Every process whose HOME lies beneath the root. */
function processesOf(folder: string): string[] {
  return readProcessTable()
    .filter(({ isZombie }) => !isZombie)
    .flatMap(({ pid }) =>
      readEnvironment(pid).some((line) => line.startsWith(`HOME=${folder}/`)) ? [String(pid)] : [],
    )
}
