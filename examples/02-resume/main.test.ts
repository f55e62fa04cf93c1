import { expect, it } from 'vitest'
import { exampleFolder } from '../run-example.js'

it('finds the work of earlier processes, in the sandbox or from the snapshot', async () => {
  await using folder = await exampleFolder()
  const program = new URL('./main.ts', import.meta.url)
  const runs: unknown[] = []
  for (const args of [[], [], ['--gone'], ['--gone']]) {
    const { exitCode, stdout, stderr } = await folder.run(program, args)
    expect(exitCode, stderr).toBe(0)
    const [told = '', state = ''] = stdout.trim().split('\n')
    runs.push(JSON.parse(told))
    expect(JSON.parse(state)).toMatchObject({ version: 1, backend: 'local', snapshot: { kind: 'archive', files: 1 } })
  }
  expect(runs).toEqual([
    { branch: 'cold', runs: 1, saved: 1, compute: 'parked' },
    { branch: 'warm', runs: 2, saved: 1, compute: 'parked' },
    { branch: 'warm', runs: 3, saved: 1, compute: 'destroyed' },
    { branch: 'lost', runs: 4, saved: 1, compute: 'destroyed' },
  ])
})
