import { SandboxError } from '@cofferdam/core/plugin'
import type { ProcessLimits, SpawnRequest } from '@cofferdam/core/plugin'

/** A program with its arguments and its whole environment. */
export interface SpawnPlan {
  readonly file: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

export interface SpawnSurroundings {
  /** What every command gets, weakest first. */
  readonly environments: readonly Readonly<Record<string, string>>[]
  /** Ours, which no caller may replace. */
  readonly markers: Readonly<Record<string, string>>
}

const NAME = /^[^=\0]+$/
const LONE_SURROGATE = /\p{Surrogate}/u
const SHELL = '/bin/sh'

/**
 * Sets the limits it is given (an empty text sets none) and becomes the command. Sizes are in the units of POSIX: 512 bytes
 * for files, 1024 for memory. Exit 126 is what shells say of a program that cannot be run.
 */
const LIMIT_SCRIPT = [
  '[ -z "$1" ] || ulimit -t "$1" || exit 126',
  '[ -z "$2" ] || ulimit -v "$2" || exit 126',
  '[ -z "$3" ] || ulimit -f "$3" || exit 126',
  '[ -z "$4" ] || ulimit -n "$4" || exit 126',
  'shift 4',
  'exec "$@"',
].join('\n')

/** Throws `invalid_argument`, `unsupported_feature`. */
export function planSpawn(request: SpawnRequest, around: SpawnSurroundings): SpawnPlan {
  if (request.user !== undefined) {
    const reason = 'all commands run as the user of this process'
    throw new SandboxError(
      'unsupported_feature',
      `The local backend cannot do this: ${reason}.`,
      { feature: 'users', reason },
      { backend: 'local' },
    )
  }
  const env = mergeEnvironments(around, request.env ?? {})
  const argv = typeof request.command === 'string' ? [SHELL, '-c', request.command] : request.command
  const [file, ...args] =
    request.limits === undefined ? argv : [SHELL, '-c', LIMIT_SCRIPT, 'sh', ...limitArguments(request.limits), ...argv]
  if (file === undefined || file === '') throw invalid('command', 'it is empty; give a program')
  for (const part of argv) assertText('command', part)
  return { file, args, env }
}

/** The program that a request names, as messages show it. */
export function programOf(request: SpawnRequest): string {
  return typeof request.command === 'string' ? SHELL : (request.command[0] ?? '')
}

function mergeEnvironments(around: SpawnSurroundings, own: Readonly<Record<string, string>>): Record<string, string> {
  // Without a prototype: __proto__ is a lawful name.
  const env = Object.create(null) as Record<string, string>
  for (const variables of [...around.environments, own, around.markers]) {
    for (const [name, value] of Object.entries(variables)) {
      if (!NAME.test(name))
        throw invalid('env', `the name ${JSON.stringify(name)} is empty or holds an equals sign or a NUL byte`)
      assertText(`env.${name}`, value)
      env[name] = value
    }
  }
  return env
}

/** Node hands programs nothing but UTF-8, so that a byte which is none is refused rather than changed. */
function assertText(argument: string, value: string): void {
  if (typeof value !== 'string') throw invalid(argument, 'it is no text')
  if (value.includes('\0')) throw invalid(argument, 'it holds a NUL byte')
  if (LONE_SURROGATE.test(value))
    throw invalid(argument, 'it holds bytes that are not UTF-8, which this backend cannot pass on')
}

function limitArguments(limits: ProcessLimits): string[] {
  const { cpuSeconds, memoryBytes, fileSizeBytes, openFiles } = limits
  return [
    limitArgument('cpuSeconds', cpuSeconds, 1),
    limitArgument('memoryBytes', memoryBytes, 1024),
    limitArgument('fileSizeBytes', fileSizeBytes, 512),
    limitArgument('openFiles', openFiles, 1),
  ]
}

function limitArgument(name: string, value: number | undefined, unit: number): string {
  if (value === undefined) return ''
  if (!Number.isSafeInteger(value) || value < 0) throw invalid(`limits.${name}`, 'it is no whole number from 0 on')
  return String(Math.floor(value / unit))
}

function invalid(argument: string, reason: string): SandboxError {
  return new SandboxError(
    'invalid_argument',
    `The ${argument} cannot be used: ${reason}.`,
    { argument, reason },
    { backend: 'local' },
  )
}
