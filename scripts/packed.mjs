// `npm run packed`: builds every package, packs it and looks at the archive as npm users will meet it: are all entries
// there, do the types resolve. The last line says how many packages are fit to be published.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { root, setupOrExit } from './setup.mjs'

await setupOrExit()
if (!run('tsc', '-b', 'tsconfig.build.json')) process.exit(1)
const packages = readdirSync(join(root, 'packages'))
const fit = packages.filter((name) => {
  const folder = `packages/${name}`
  process.stdout.write(`\n── ${folder}\n`)
  const complete = run('publint', 'run', folder, '--strict', '--pack', 'npm')
  const typed = run('attw', '--pack', folder, '--profile', 'esm-only', '--format', 'ascii', '--no-emoji')
  return complete && typed
})
process.stdout.write(`\n${fit.length} of ${packages.length} packages can be published\n`)
process.exitCode = fit.length === packages.length ? 0 : 1

function run(command, ...args) {
  const path = `${join(root, 'node_modules', '.bin')}${delimiter}${process.env.PATH}`
  return spawnSync(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, PATH: path } }).status === 0
}
