import { SandboxError } from '../errors/sandbox-error.js'
import type { Manifest } from '../manifest/manifest.js'
import type { Filling } from './filling.js'
import { runCommand } from './run-command.js'

/**
 * Names come as arguments, never as text of the script. Each one that was made is told on a line, so that a failure can
 * take back exactly those.
 */
const MAKE_GROUPS =
  'for name; do getent group "$name" >/dev/null || { groupadd "$name" && echo "$name"; } || exit 1; done'
const MAKE_USERS =
  'for name; do getent passwd "$name" >/dev/null ||' +
  ' { useradd --user-group --no-create-home --shell /usr/sbin/nologin "$name" && echo "$name"; } || exit 1; done'

/** Makes users and groups that are not there, and memberships. Groups of the same names as users come with the users. */
export async function makeAccounts(manifest: Manifest, filling: Filling): Promise<void> {
  const { users, groups } = manifest
  const names = users.map(({ name }) => name)
  const ownGroups = groups.map(({ name }) => name).filter((name) => !names.includes(name))
  await makeAll(MAKE_GROUPS, 'groupdel', ownGroups, filling)
  await makeAll(MAKE_USERS, 'userdel', names, filling)
  for (const group of groups) {
    for (const user of group.users) await runAsRoot(['usermod', '--append', '--groups', group.name, user], filling)
  }
}

/** Gives a path, and with `recursive` all beneath it, to its owner. Links are given, not what they point to. */
export async function giveAway(
  place: string,
  to: { readonly owner?: string; readonly group?: string; readonly recursive: boolean },
  filling: Filling,
): Promise<void> {
  const spec = `${to.owner ?? ''}${to.group === undefined ? '' : `:${to.group}`}`
  await runAsRoot(['chown', to.recursive ? '-hRP' : '-h', '--', spec, place], filling)
}

async function makeAll(script: string, undo: string, names: readonly string[], filling: Filling): Promise<void> {
  if (names.length === 0) return
  const made = await runAsRoot(['sh', '-c', script, 'accounts', ...names], filling)
  for (const name of made.split('\n').filter((line) => names.includes(line))) {
    filling.rollback.add(async () => {
      await runAsRoot([undo, name], filling)
    })
  }
}

async function runAsRoot(command: readonly string[], filling: Filling): Promise<string> {
  const outcome = await runCommand(filling.sandbox, { command, user: 'root', cwd: '/' })
  if (outcome.exitCode === 0) return outcome.stdout
  const { exitCode, signal, timedOut } = outcome
  const message = `Users, groups or owners of the manifest cannot be set: ${command[0]}: ${outcome.stderr.trim().slice(-500)}`
  const details = { exitCode, signal, timedOut, stdoutTail: '', stderrTail: outcome.stderr.slice(-500) }
  throw new SandboxError('exec_failed', message, details, { operation: 'materialize' })
}
