import { expect, it } from 'vitest'
import { exampleFolder } from '../run-example.js'

it('gives an agent a capability of its own, with approval and checked input', async () => {
  await using folder = await exampleFolder()
  const { exitCode, stdout, stderr } = await folder.run(new URL('./main.ts', import.meta.url))
  expect({ exitCode, stdout }, stderr).toEqual({
    exitCode: 0,
    stdout: [
      'Keep what is left to do in TODO.md: add_todo adds a line, finish_todo ticks one off.',
      'add_todo {"task":"write the tests"}',
      'add_todo {"task":"deploy"}',
      'finish_todo {"task":"write the tests"}',
      'finish_todo "approval_required"',
      'add_todo "tool_input_invalid"',
      '- [x] write the tests\n- [ ] deploy\n\n',
    ].join('\n'),
  })
  expect(await folder.list()).toEqual(['.cofferdam'])
})
