import { expect, it } from 'vitest'
import { exampleFolder } from '../run-example.js'

it('uses a decorated class of the caller, and gives it the services of the host', async () => {
  await using folder = await exampleFolder()
  const { exitCode, stdout, stderr } = await folder.run(new URL('./main.ts', import.meta.url))
  expect({ exitCode, stdout }, stderr).toEqual({
    exitCode: 0,
    stdout: 'shop: a command ended with 3\nshop: closed\n',
  })
})
