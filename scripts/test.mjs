// `npm test`: every check of the repository, one after the other, none of which stops the next.
// The last line is always `N passed, N failed, N skipped`; a check that is not a test (format, lint, …) counts as one.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { root, setupOrExit } from './setup.mjs'

const help = `Usage: npm test                     every check: format, lint, types, unused, tests
       npm test -- <filter> …       only the tests whose path contains a filter
       npm test -- <filter> -t <x>  … and whose name matches x; options go to vitest
       npm test -- --help

The last line is "N passed, N failed, N skipped". The exit code is 0 when nothing failed.
`

const checks = [
  { name: 'format', command: ['prettier', '--check', '--log-level', 'warn', '.'], fix: 'npm run format' },
  { name: 'lint', command: ['eslint', '--max-warnings', '0', '.'] },
  { name: 'types', command: ['tsc', '-p', 'tsconfig.json'] },
  { name: 'unused', command: ['knip', '--no-progress', '--no-config-hints'] },
]

const args = process.argv.slice(2)
if (args.includes('--help') || args.includes('-h')) {
  process.stdout.write(help)
  process.exit(0)
}
await setupOrExit()
// Ctrl-C reaches the running check as well: this process outlives it, to clean up, and starts no other.
let interrupted = false
process.on('SIGINT', () => (interrupted = true))
const total = { passed: 0, failed: 0, skipped: 0 }
if (args.length === 0) for (const check of checks) await runCheck(check)
await runTests(args)
process.stdout.write(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped\n`)
process.exitCode = total.failed > 0 ? 1 : 0

async function runCheck({ name, command, fix }) {
  process.stdout.write(`\n── ${name}: ${command.join(' ')}\n`)
  const startedAt = Date.now()
  const ok = (await run(command)) === 0
  const hint = !ok && fix !== undefined ? `; \`${fix}\` puts it right` : ''
  process.stdout.write(`── ${name}: ${ok ? 'passed' : 'FAILED'} in ${seconds(startedAt)}${hint}\n`)
  total[ok ? 'passed' : 'failed'] += 1
}

async function runTests(filters) {
  const folder = mkdtempSync(join(tmpdir(), 'cofferdam-test-'))
  const countsFile = join(folder, 'counts.json')
  const startedAt = Date.now()
  process.stdout.write('\n── tests: vitest run\n')
  try {
    const code = await run(['vitest', 'run', ...filters], { COFFERDAM_TEST_COUNTS: countsFile })
    const counts = readCounts(countsFile)
    // Whatever makes the runner fail without a failed test (a crash, nothing found) is a failure as well.
    if (code !== 0 && counts.failed === 0) counts.failed = 1
    for (const key of Object.keys(total)) total[key] += counts[key]
    process.stdout.write(`── tests: ${counts.failed === 0 ? 'passed' : 'FAILED'} in ${seconds(startedAt)}\n`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function readCounts(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    process.stdout.write('The test run ended without a result.\n')
    return { passed: 0, failed: 1, skipped: 0 }
  }
}

function run([command, ...rest], env = {}) {
  if (interrupted) process.exit(130)
  const bin = join(root, 'node_modules', '.bin')
  return new Promise((resolve) => {
    const child = spawn(command, rest, {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
      shell: process.platform === 'win32',
      env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}`, ...env },
    })
    child.once('error', (error) => {
      process.stdout.write(`Cannot run ${command}: ${error.message}\n`)
      resolve(1)
    })
    child.once('close', (code) => resolve(code ?? 1))
  })
}

function seconds(startedAt) {
  return `${((Date.now() - startedAt) / 1000).toFixed(1)} s`
}
