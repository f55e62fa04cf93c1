// Makes a fresh clone ready: checks Node, installs the dependencies with the pinned pnpm. Plain JavaScript without
// dependencies, because it runs before there are any. Does nothing when everything is in place.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

const stampFile = join(root, 'node_modules', '.cofferdam-installed')
const unreachable =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|UND_ERR_CONNECT_TIMEOUT|ERR_PNPM_META_FETCH_FAIL|ENOTCACHED)\b/

/** A reason to stop that a person can act on; printed as one line, without a stack. */
export class SetupError extends Error {}

/** Brings node_modules up to date with pnpm-lock.yaml. */
export async function setup() {
  const { engines, packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  checkNode(engines.node)
  const wanted = fingerprint(packageManager)
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === wanted) return
  process.stdout.write(`Installing the dependencies with ${packageManager} into ${join(root, 'node_modules')} …\n`)
  const startedAt = Date.now()
  const { code, output } = await run('npx', ['-y', '--prefer-offline', packageManager, 'install', '--frozen-lockfile'])
  if (code !== 0) throw new SetupError(explain(output))
  writeFileSync(stampFile, wanted)
  process.stdout.write(`Installed in ${((Date.now() - startedAt) / 1000).toFixed(1)} s.\n`)
}

/** For scripts: `setup()`, and the process ends with one line when it cannot be done. */
export async function setupOrExit() {
  try {
    await setup()
  } catch (error) {
    if (!(error instanceof SetupError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(1)
  }
}

/**
 * Runs a TypeScript program of this repository as `node program.ts` would, with the workspace packages read from
 * their sources; resolves to its exit code.
 */
export async function runTypeScript(program, args) {
  const child = spawn(
    process.execPath,
    ['--conditions=@cofferdam/source', '--import', import.meta.resolve('tsx'), join(root, program), ...args],
    {
      stdio: 'inherit',
      env: { ...process.env, TSX_TSCONFIG_PATH: join(root, 'tsconfig.json') },
    },
  )
  // Ctrl-C reaches the whole process group, the program included: this process only has to outlive it.
  const outlive = () => {}
  const forward = (signal) => child.kill(signal)
  process.on('SIGINT', outlive).on('SIGTERM', forward)
  const [code, signal] = await ended(child)
  process.off('SIGINT', outlive).off('SIGTERM', forward)
  return signal === null ? code : 128 + constants.signals[signal]
}

function checkNode(range) {
  const [major, minor] = process.versions.node.split('.').map(Number)
  const [wantedMajor, wantedMinor] = range.replace('>=', '').split('.').map(Number)
  if (major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)) return
  throw new SetupError(`Node ${process.versions.node} is too old: Cofferdam needs Node ${range}.`)
}

/** What decides whether an installation is still the right one. */
function fingerprint(packageManager) {
  const lockfile = readFileSync(join(root, 'pnpm-lock.yaml'))
  return `${packageManager} ${process.platform}-${process.arch} ${createHash('sha256').update(lockfile).digest('hex')}\n`
}

function explain(output) {
  const cause = unreachable.exec(output)?.[0]
  if (cause !== undefined) {
    return `Cannot reach the npm registry (${cause}): the dependencies are not installed. Connect to the network, or set npm_config_registry, and try again.`
  }
  return `The dependencies could not be installed:\n${output.trimEnd().split('\n').slice(-30).join('\n')}`
}

async function run(command, args) {
  const child = spawn(command, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
    // One retry: whoever is offline wants to hear it soon. CI keeps pnpm from asking questions.
    env: {
      ...process.env,
      CI: 'true',
      npm_config_fetch_retries: '1',
      npm_config_fetch_retry_mintimeout: '1000',
      npm_config_fetch_timeout: '60000',
    },
  })
  const chunks = []
  child.stdout.on('data', (chunk) => chunks.push(chunk))
  child.stderr.on('data', (chunk) => chunks.push(chunk))
  const [code] = await ended(child)
  return { code, output: Buffer.concat(chunks).toString('utf8') }
}

function ended(child) {
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new SetupError(`Cannot run ${child.spawnfile}: ${error.message}.`)))
    child.once('close', (code, signal) => resolve([code, signal]))
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await setupOrExit()
