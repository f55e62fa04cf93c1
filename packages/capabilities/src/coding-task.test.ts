import { describe, expect, it } from 'vitest'
import { filesystem } from './filesystem/filesystem-capability.js'
import { BACKENDS, digestWorkspace, openBench } from './open-session.fixture.js'
import { shell } from './shell/shell-capability.js'

const PROJECT = {
  entries: {
    'greet.sh': { kind: 'file', text: '# Says hello.\necho "Hello $1"\n' },
    'test.sh': {
      kind: 'file',
      text: 'seen=$(sh greet.sh Ada)\nif [ "$seen" = "Hello, Ada!" ]; then echo passed; else echo "failed: $seen"; exit 1; fi\n',
    },
  },
} as const

describe.each(BACKENDS)('a coding task on %s', (_name, plugin) => {
  it('goes from red to green through the tools alone', async () => {
    await using bench = await openBench(plugin(), [filesystem(), shell()], { manifest: PROJECT })
    expect(bench.instructions).toMatch(/^Files: [^]*\n\nCommands: /)

    const red = await bench.call('exec_command', { command: 'sh test.sh' })
    expect([red.ok, red.facts.exitCode, red.facts.output]).toEqual([false, 1, 'failed: Hello Ada\n'])

    const found = await bench.call('grep', { pattern: 'Hello', glob: '*.sh' })
    expect(found.text).toContain('greet.sh:2: echo "Hello $1"')
    const before = await digestWorkspace(bench.session)
    const wrong =
      '*** Begin Patch\n*** Update File: greet.sh\n@@ # Says hello.\n-echo "Hallo $1"\n+echo "Hello, $1!"\n*** End Patch'
    expect((await bench.call('apply_patch', { patch: wrong })).facts.code).toBe('patch_conflict')
    expect(await digestWorkspace(bench.session)).toEqual(before)
    expect((await bench.call('apply_patch', { patch: wrong.replace('Hallo', 'Hello') })).text).toBe(
      'Done.\nM greet.sh (+1 -1)',
    )

    const green = await bench.call('exec_command', { command: 'sh test.sh' })
    expect([green.ok, green.facts.exitCode, green.facts.output]).toEqual([true, 0, 'passed\n'])
  })
})
