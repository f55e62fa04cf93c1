import { expect, it } from 'vitest'
import { exampleFolder } from '../run-example.js'

it('runs a command in a sandbox, writes a file and leaves no sandbox behind', async () => {
  await using folder = await exampleFolder()
  const { stdout, stderr, exitCode } = await folder.run(new URL('./main.ts', import.meta.url))
  expect({ exitCode, stdout, stderr }).toEqual({
    exitCode: 0,
    stdout: "0 [ 'results/greeting.txt' ] hello, world\n\n",
    stderr: expect.stringMatching(/NOT confined|isolation/) as string,
  })
  expect(await folder.list()).toEqual(['.cofferdam'])
})
