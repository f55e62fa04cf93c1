import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineTarget } from '@cofferdam/testkit'
import { describeConformance } from '@cofferdam/testkit/vitest'
import { expect, it } from 'vitest'
import { exampleFolder } from '../run-example.js'
import { createFolderClient } from './folder-backend.js'

it('serves a host like any other backend', async () => {
  await using folder = await exampleFolder()
  const { exitCode, stdout, stderr } = await folder.run(new URL('./main.ts', import.meta.url))
  expect({ exitCode, stdout, stderr }).toEqual({
    exitCode: 0,
    stdout: 'folder lost 42\n',
    stderr: 'cofferdam warning: backend folder does not confine commands: they are processes of this account\n',
  })
  expect(readdirSync(join(folder.path, 'sandboxes'))).toEqual([])
})

const root = mkdtempSync(join(tmpdir(), 'cofferdam-folder-backend-'))

describeConformance(
  defineTarget({
    kind: 'backend',
    name: 'folder',
    create: () => createFolderClient(root),
    census: () => readdirSync(root),
    tearDown: () => rmSync(root, { recursive: true, force: true }),
    known: {
      'exec.exit.unnamed-signal': { reason: 'signals are given on under the names that Node has for them' },
      'recovery.reattach.background': { reason: 'what another process started is ended at start: its pipes are gone' },
    },
  }),
  // Its files are those of @cofferdam/core/host-files, which are held to the clauses on files and paths elsewhere.
  { only: ['lifecycle.', 'exec.', 'idempotence.', 'recovery.'] },
)
