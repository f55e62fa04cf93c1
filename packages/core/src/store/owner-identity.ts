import { execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { JsonValue } from '../errors/error-details.js'

/**
 * Names one run of one process on one machine, as plain JSON: a process id alone is reused, by other processes, in other
 * containers and after a reboot.
 */
export type OwnerIdentity = {
  readonly host: string
  /** Which pid namespace `pid` counts in; null where that cannot be known. */
  readonly pidNamespace: string | null
  /** Which run of the kernel; null where that cannot be known. */
  readonly bootId: string | null
  readonly pid: number
  /** When the process started, in the system's own unit; null where that cannot be known. */
  readonly startTime: string | null
}

export type OwnerVerdict = 'alive' | 'dead' | 'unknown'

let own: OwnerIdentity | undefined

/** The identity of this process. */
export function currentOwner(): OwnerIdentity {
  if (own?.pid === process.pid) return own
  const start = readProcess(process.pid)
  own = {
    host: hostname(),
    pidNamespace: process.platform === 'darwin' ? 'none' : attempt(() => readlinkSync('/proc/self/ns/pid')),
    bootId: attempt(readBootId),
    pid: process.pid,
    startTime: start === 'gone' || start === 'hidden' ? null : start.startTime,
  }
  return own
}

/**
 * Whether that process still runs. `dead` is a proof: machine, boot and pid namespace are ours, and the process with that
 * number and start time is gone or a zombie. Everything less, also a value that is no identity at all, is `unknown`:
 * then only the time that passes without a sign of life can tell.
 */
export function judgeOwner(owner: JsonValue): OwnerVerdict {
  const known = parseOwner(owner)
  if (known === undefined) return 'unknown'
  if (sameProcess(known)) return 'alive'
  if (!sameMachine(known) || known.pidNamespace !== currentOwner().pidNamespace) return 'unknown'
  const found = readProcess(known.pid)
  if (found === 'gone') return 'dead'
  if (found === 'hidden' || known.startTime === null) return 'unknown'
  if (found.startTime !== known.startTime || found.ended) return 'dead'
  return 'alive'
}

/** Both on one running kernel. False where that cannot be known. */
export function sameMachine(owner: JsonValue, other: OwnerIdentity = currentOwner()): boolean {
  const known = parseOwner(owner)
  return known !== undefined && known.host === other.host && known.bootId !== null && known.bootId === other.bootId
}

/** Both the same run of the same process. */
export function sameProcess(owner: JsonValue, other: OwnerIdentity = currentOwner()): boolean {
  const known = parseOwner(owner)
  return (
    known !== undefined &&
    known.host === other.host &&
    known.bootId === other.bootId &&
    known.pidNamespace === other.pidNamespace &&
    known.pid === other.pid &&
    known.startTime === other.startTime
  )
}

/** The identity that was stored as JSON; undefined when it is none. */
function parseOwner(value: JsonValue): OwnerIdentity | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const { host, pidNamespace, bootId, pid, startTime } = value as { readonly [key: string]: JsonValue }
  const pidIsValid = typeof pid === 'number' && Number.isSafeInteger(pid) && pid > 0 && pid < 2 ** 31
  if (typeof host !== 'string' || !pidIsValid) return undefined
  if (!isText(pidNamespace) || !isText(bootId) || !isText(startTime)) return undefined
  return { host, pidNamespace, bootId, pid, startTime }
}

function isText(value: JsonValue | undefined): value is string | null {
  return value === null || typeof value === 'string'
}

interface FoundProcess {
  readonly startTime: string | null
  readonly ended: boolean
}

function readProcess(pid: number): FoundProcess | 'gone' | 'hidden' {
  const stat = process.platform === 'linux' ? attempt(() => readFileSync(`/proc/${pid}/stat`, 'latin1')) : null
  if (stat !== null) return parseStat(stat)
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return 'gone'
  }
  // It is there, but /proc does not show it: hidepid, another platform, no /proc.
  return process.platform === 'linux' ? 'hidden' : { startTime: null, ended: false }
}

/** proc_pid_stat(5). The name in parentheses may hold anything, so the fields are counted from its end. */
function parseStat(stat: string): FoundProcess | 'hidden' {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, threads, startTime] = [fields[0], Number(fields[17]), fields[19]]
  if (state === undefined || startTime === undefined) return 'hidden'
  // The first thread is shown as a zombie while others still finish what they do.
  return { startTime, ended: /^[ZXx]$/.test(state) && !(threads > 1) }
}

function readBootId(): string | null {
  if (process.platform === 'linux') return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
  if (process.platform !== 'darwin') return null
  const id = execFileSync('/usr/sbin/sysctl', ['-n', 'kern.bootsessionuuid'], { encoding: 'latin1' }).trim()
  return id === '' ? null : id
}

function attempt<T>(read: () => T): T | null {
  try {
    return read()
  } catch {
    return null
  }
}
