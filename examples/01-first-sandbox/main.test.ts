import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { exampleFolder } from '../run-example.js'

it('runs a command in a sandbox, writes a file and leaves no sandbox behind', async () => {
  await using folder = await exampleFolder()
  const { stdout, stderr, exitCode } = await folder.run(new URL('./main.ts', import.meta.url))
  expect({ exitCode, stdout }, stderr).toEqual({
    exitCode: 0,
    stdout: "0 [ 'results/greeting.txt' ] hello, world\n\n",
  })
  expect(stderr).toMatch(/^cofferdam warning: backend local does not confine commands: .*\n$/)
  expect(await folder.list()).toEqual(['.cofferdam'])
})

it('fills a workspace from a manifest, runs something in the background and shows an error', async () => {
  await using folder = await exampleFolder()
  await mkdir(join(folder.path, 'project/src'), { recursive: true })
  await writeFile(join(folder.path, 'project/src/main.js'), '')
  await writeFile(join(folder.path, 'project/AGENTS.md'), '# How to work here\n')
  const { stdout, stderr, exitCode } = await folder.run(new URL('./more.ts', import.meta.url))
  expect({ exitCode, stdout }, stderr).toEqual({
    exitCode: 0,
    stdout: [
      ['README.md', 'context/AGENTS.md', 'scratch', 'src/main.js', '24', '\n'].join('\n'),
      'listening\n null\n',
      'path_escape ../outside\n',
    ].join(''),
  })
})
