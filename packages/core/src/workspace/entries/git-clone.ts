import { isSandboxError, SandboxError } from '../../errors/sandbox-error.js'
import type { GitRepoEntry } from '../../manifest/entry.js'
import type { Filling } from '../filling.js'
import { runCommand } from '../run-command.js'
import type { CommandOutcome } from '../run-command.js'

/** For each git command. */
const TIMEOUT_MS = 15 * 60_000
const FULL_COMMIT = /^([0-9a-f]{40}|[0-9a-f]{64})$/
const SHORT_COMMIT = /^[0-9a-f]{7,63}$/

export interface CloneRequest {
  /** The entry's path, for messages. */
  readonly path: string
  readonly entry: GitRepoEntry
  readonly url: string
  /** Absolute sandbox path where nothing is yet. */
  readonly into: string
}

/**
 * Runs git in the sandbox, as an argument vector without a shell. Nothing of the repository is executed: no hooks, no
 * submodules, no external transports. A password reaches git through its environment alone.
 *
 * @throws `unsupported_feature` (`git`) when the sandbox has no git; `not_found` when the ref is not there;
 * `exec_failed` when git fails for any other reason
 */
export async function cloneInSandbox(request: CloneRequest, filling: Filling): Promise<void> {
  const { entry, url, into } = request
  const git = await gitRunner(request, filling)
  const depth = entry.depth === 0 ? [] : [`--depth=${entry.depth}`]
  const { ref } = entry
  if (ref !== undefined && FULL_COMMIT.test(ref)) return cloneCommit(git, { ref, depth, url, into })
  const branch = ref === undefined ? [] : ['--branch', ref]
  const outcome = await git.run(['clone', '--quiet', ...depth, ...branch, '--', url, into])
  if (outcome.exitCode === 0) return
  const noSuchRef = /Remote branch .* not found/.test(outcome.stderr)
  if (ref === undefined || !noSuchRef) throw git.failure(outcome)
  if (!SHORT_COMMIT.test(ref)) throw git.noSuchRef(ref)
  await git.runOrThrow(['clone', '--quiet', '--no-checkout', '--', url, into])
  await checkOut(git, into, ref)
}

/** Not every server gives out any commit by its name; then all of history is fetched. */
async function cloneCommit(
  git: GitRunner,
  {
    ref,
    depth,
    url,
    into,
  }: { readonly ref: string; readonly depth: readonly string[]; readonly url: string; readonly into: string },
): Promise<void> {
  const format = ref.length === 64 ? ['--object-format=sha256'] : []
  await git.runOrThrow(['init', '--quiet', ...format, '--', into])
  await git.runOrThrow(['-C', into, 'remote', 'add', 'origin', url])
  const single = await git.run(['-C', into, 'fetch', '--quiet', ...depth, 'origin', ref])
  if (single.exitCode !== 0) await git.runOrThrow(['-C', into, 'fetch', '--quiet', '--tags', 'origin'])
  await checkOut(git, into, ref)
}

async function checkOut(git: GitRunner, into: string, ref: string): Promise<void> {
  const outcome = await git.run(['-C', into, 'checkout', '--quiet', '--detach', ref, '--'])
  if (outcome.exitCode !== 0) throw git.noSuchRef(ref)
}

interface GitRunner {
  run(args: readonly string[]): Promise<CommandOutcome>
  runOrThrow(args: readonly string[]): Promise<void>
  failure(outcome: CommandOutcome): SandboxError
  noSuchRef(ref: string): SandboxError
}

async function gitRunner({ path, entry, url }: CloneRequest, filling: Filling): Promise<GitRunner> {
  const password = entry.credentials === undefined ? undefined : await filling.secrets(entry.credentials.secret)
  if (password !== undefined && /[\n\r\0]/.test(password)) {
    const problem = `secret '${entry.credentials!.secret}' has a line break, which no git password can have`
    throw new SandboxError('invalid_config', `entries.${path}: ${problem}.`, { problems: [problem] })
  }
  const env = gitEnvironment(url, password === undefined ? undefined : { user: entry.credentials!.user, password })
  const run = async (args: readonly string[]): Promise<CommandOutcome> => {
    try {
      return await runCommand(filling.sandbox, {
        command: ['git', ...args],
        cwd: filling.sandbox.paths.control,
        env,
        timeoutMs: TIMEOUT_MS,
        ...(filling.signal === undefined ? {} : { signal: filling.signal }),
      })
    } catch (error) {
      throw isSandboxError(error, 'exec_not_started') ? withoutGit(path, error) : error
    }
  }
  const failure = (outcome: CommandOutcome): SandboxError => gitFailure(path, outcome, password)
  return {
    run,
    runOrThrow: async (args) => {
      const outcome = await run(args)
      if (outcome.exitCode !== 0) throw failure(outcome)
    },
    failure,
    noSuchRef: (ref) => new SandboxError('not_found', `entries.${path}: the repository has no ${ref}.`, { path: ref }),
  }
}

/** Reads what git asks for from variables that only this one process has. */
const ANSWER =
  '!f() { test "$1" = get && printf "username=%s\\npassword=%s\\n" "$COFFERDAM_GIT_USER" "$COFFERDAM_GIT_PASSWORD"; }; f'

function gitEnvironment(
  url: string,
  credentials: { readonly user: string; readonly password: string } | undefined,
): Record<string, string> {
  const settings: (readonly [string, string])[] = [
    ['core.hooksPath', '/dev/null'],
    ['core.fsmonitor', 'false'],
    ['init.templateDir', ''],
    ['submodule.recurse', 'false'],
    ['protocol.ext.allow', 'never'],
    ['transfer.credentialsInUrl', 'die'],
    ['gc.auto', '0'],
    ['advice.detachedHead', 'false'],
    ['credential.helper', ''],
  ]
  // For this server alone: where it redirects to does not get the password.
  if (credentials !== undefined) settings.push([`credential.${new URL(url).origin}.helper`, ANSWER])
  const config = settings.flatMap(([key, value], i) => [
    [`GIT_CONFIG_KEY_${i}`, key],
    [`GIT_CONFIG_VALUE_${i}`, value],
  ])
  return {
    GIT_CONFIG_COUNT: String(settings.length),
    ...(Object.fromEntries(config) as Record<string, string>),
    // What the sandbox's user has written in a configuration of its own must not see a password.
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ALLOW_PROTOCOL: url.startsWith('file:') ? 'file' : 'https:http:ssh:git',
    GIT_TERMINAL_PROMPT: '0',
    GIT_SSH_COMMAND: 'ssh -o BatchMode=yes',
    GIT_LFS_SKIP_SMUDGE: '1',
    LC_ALL: 'C',
    ...(credentials === undefined
      ? {}
      : { COFFERDAM_GIT_USER: credentials.user, COFFERDAM_GIT_PASSWORD: credentials.password }),
  }
}

function withoutGit(path: string, cause: unknown): SandboxError {
  const reason = 'the sandbox has no git; use an image with git, or local_dir'
  return new SandboxError('unsupported_feature', `entries.${path}: ${reason}.`, { feature: 'git', reason }, { cause })
}

function gitFailure(path: string, outcome: CommandOutcome, password: string | undefined): SandboxError {
  const said = password === undefined || password === '' ? outcome.stderr : outcome.stderr.replaceAll(password, '…')
  const why = outcome.timedOut ? 'it took too long' : said.trim().slice(-1000) || `exit code ${outcome.exitCode}`
  return new SandboxError(
    'exec_failed',
    `entries.${path}: git could not clone the repository: ${why}`,
    {
      exitCode: outcome.exitCode,
      signal: outcome.signal,
      timedOut: outcome.timedOut,
      stdoutTail: '',
      stderrTail: said.slice(-1000),
    },
    { operation: 'materialize' },
  )
}
