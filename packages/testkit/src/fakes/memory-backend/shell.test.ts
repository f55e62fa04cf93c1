import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createMemoryClient, createMemoryWorld } from '../../index.js'
import type { CreateSandbox } from '@cofferdam/core/plugin'

const REQUEST: CreateSandbox = {
  name: 'shell-test',
  identity: { deployment: 'test', slotHash: 'ab', sessionId: 's' },
  workspaceRoot: '/workspace',
  environment: { GREETING: 'hello' },
  mounts: [],
  limits: { memoryBytes: null, cpus: null, pids: null, diskBytes: null },
  network: { kind: 'none' },
  users: 'off',
  entrypoint: 'ignore',
  fromNative: null,
  requires: {},
}

async function run(script: string): Promise<{ stdout: string; stderr: string; exitCode: number | null }> {
  const world = createMemoryWorld()
  const sandbox = await createMemoryClient(world).create(REQUEST)
  await sandbox.start({ fence: 1n })
  const process = await sandbox.spawn({ operationId: 'op', command: script, timeoutMs: 10_000 })
  const [stdout, stderr, exit] = await Promise.all([
    new Response(process.stdout).text(),
    new Response(process.stderr).text(),
    process.wait(),
  ])
  await sandbox.stop()
  expect(world.defects).toEqual([])
  expect(world.use).toEqual({ sandboxes: 1, processes: 0, openStreams: 0 })
  return { stdout, stderr, exitCode: exit.exitCode }
}

/** What dash prints for the same text. */
const SCRIPTS: readonly (readonly [script: string, stdout: string, exitCode?: number])[] = [
  ['echo a "b  c" \'$d\' $GREETING "${GREETING}!"', 'a b  c $d hello hello!\n'],
  ['echo "${NONE:-x y}" ${#GREETING} ${GREETING%lo} ${GREETING#he} ${NONE+set}', 'x y 5 hel llo\n'],
  ['false && echo no || echo yes; true && echo and', 'yes\nand\n'],
  ['! false; echo $?; (exit 3); echo $?; exit 7', '0\n3\n', 7],
  ['if [ 1 -eq 2 ]; then echo a; elif test -n x; then echo b; else echo c; fi', 'b\n'],
  ['i=0; while [ $i -lt 3 ]; do i=$((i + 1)); [ $i = 2 ] && continue; echo $i; done', '1\n3\n'],
  ['for x in a "b c" *; do echo "<$x>"; done', '<a>\n<b c>\n<*>\n'],
  ['touch one two .hidden; echo *; echo "*" t*', 'one two\n* two\n'],
  ['case abc in x*) echo no;; a?c|z) echo yes;; *) echo other;; esac', 'yes\n'],
  ["cat <<EOF\n$GREETING $(echo x)\n\\$y\nEOF\ncat <<'EOF'\n$z\nEOF", 'hello x\n$y\n$z\n'],
  ['echo out > f; echo err >&2 2>> f; cat < f; wc -c < f', 'out\n4\n'],
  ['{ echo a; echo b >&2; } 2>&1 | sort -r', 'b\na\n'],
  ['seq 5 | tail -n 2 | tr 4 x; yes | head -n 2', 'x\n5\ny\ny\n'],
  ['printf "%s-%03d\\n" a 7 b 8; printf "\\101\\n"', 'a-007\nb-008\nA\n'],
  ['sleep 0.01 & pid=$!; wait $pid; echo $?; (sleep 5) & kill $!; wait $!; echo $?', '0\n143\n'],
  ['trap "echo trapped" TERM; kill -TERM $$; echo after; trap "echo bye" EXIT; exit 2', 'trapped\nafter\nbye\n', 2],
  ['printf "a b\\nc\\n" | while read x y; do echo "$x:$y"; done', 'a:b\nc:\n'],
  ['mkdir -p d/e; echo 1 > d/e/f; cp -r d g; ln -s e d/l; cat d/l/f g/e/f; rm -r d; ls', '1\n1\ng\n'],
  ['sh -c \'echo $0 $1 "$@"; exit 4\' name a "b c"; echo $?', 'name a a b c\n4\n'],
  ['printf "#!/bin/sh\\necho script \\$1\\n" > s; chmod +x s; ./s x; ./none; echo $?', 'script x\n127\n'],
  ['set -e; true; if false; then :; fi; false || true; false; echo never', '', 1],
  ['X=1 env | grep -c ^X=; X=2; env | grep -c ^X=; export X; env | grep ^X=', '1\n0\nX=2\n'],
  ['exec 3> f; echo three >&3; exec 3>&-; cat f; exec echo last; echo never', 'three\nlast\n'],
  ['echo `echo a \\`echo b\\``; echo "$(printf "x\\n\\n")"', 'a b\nx\n'],
  ['cd /tmp && pwd; cd /none || echo stays; echo $PWD', '/tmp\nstays\n/tmp\n'],
  ['setsid sh -c "echo in session"; nohup echo kept; command -v cat | grep -c /bin/cat', 'in session\nkept\n1\n'],
  ['printf abc | sha256sum', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  -\n'],
]

describe('the shell of the memory backend', () => {
  for (const [script, stdout, exitCode = 0] of SCRIPTS) {
    it(`runs ${script}`, async () => {
      expect(await run(script)).toMatchObject({ stdout, exitCode })
    })
  }

  it('prints what the shell of this machine prints', () => {
    for (const [script, stdout, exitCode = 0] of SCRIPTS) {
      const folder = mkdtempSync(join(tmpdir(), 'cofferdam-shell-'))
      try {
        const env = { PATH: process.env['PATH'], ...REQUEST.environment }
        const real = spawnSync('sh', ['-c', script], { cwd: folder, env })
        const seen = real.stdout.toString('utf8')
        expect({ script, stdout: seen, exitCode: real.status }).toEqual({ script, stdout, exitCode })
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    }
  })

  it('says what it cannot parse, and exits with 2', async () => {
    for (const script of ['if true; then', 'echo "open', 'a | | b', 'for in x', '(echo', 'fi']) {
      const result = await run(script)
      expect(result.exitCode, script).toBe(2)
      expect(result.stderr, script).toMatch(/^sh: syntax error/)
      expect(result.stdout, script).toBe('')
    }
  })

  it('keeps the event loop free while a command spins', async () => {
    const world = createMemoryWorld()
    const sandbox = await createMemoryClient(world).create(REQUEST)
    await sandbox.start({ fence: 1n })
    const process = await sandbox.spawn({ operationId: 'spin', command: 'while true; do :; done', timeoutMs: 20 })
    expect(await process.wait()).toEqual({ exitCode: null, signal: 'SIGKILL', timedOut: true })
  })
})
