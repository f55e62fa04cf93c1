import { closeSync, openSync, readdirSync, readSync } from 'node:fs'
import { execFileSync } from 'node:child_process'

/** One line of the process table. */
export interface ProcessEntry {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number
  /** Dead and not yet collected by its parent: nothing runs, and no signal reaches it. */
  readonly isZombie: boolean
  /** A thread of the kernel: it has no environment, and belongs to nobody. */
  readonly isKernel: boolean
}

/** What belongs to something that was started here. */
export interface Family {
  /** Processes that were started as leaders of a session of their own. */
  readonly leaders: readonly { readonly pid: number; readonly hasEnded: boolean }[]
  /** Text that the environment of each member holds, unless it was scrubbed. */
  readonly marker: string
}

/** What was found of a family. */
export interface FamilyMembers {
  readonly pids: readonly number[]
  /** Process groups that belong to it as a whole: a signal to one reaches all of it at once, also who is being forked. */
  readonly groups: readonly number[]
}

/**
 * All processes of a family that can be found: by the marker that they inherited, by the session or group of a member, and by
 * a parent that is a member. What left all three at once (an environment scrubbed, a session of its own, a parent gone) was
 * lost sight of, and that is why killing is declared `best-effort`.
 */
export function findFamily(family: Family): FamilyMembers {
  const table = readProcessTable().filter(({ pid, isZombie, isKernel }) => {
    return pid !== process.pid && !isZombie && !isKernel
  })
  const alive = new Set(table.map(({ pid }) => pid))
  // A pid is given away again only when no session and no group has it as its number any more.
  const leaders = family.leaders.filter(({ pid, hasEnded }) => !hasEnded || !alive.has(pid)).map(({ pid }) => pid)
  const members = new Set<number>()
  const sessions = new Set(leaders)
  const groups = new Set(leaders)
  for (const { pid } of table) if (hasMarker(pid, family.marker)) members.add(pid)
  for (let before = -1; before !== members.size;) {
    before = members.size
    for (const entry of table) {
      const belongs =
        members.has(entry.pid) || members.has(entry.parent) || sessions.has(entry.session) || groups.has(entry.group)
      if (!belongs) continue
      members.add(entry.pid)
      // Only what a member leads: the session that a member was born into may be ours.
      if (entry.session === entry.pid) sessions.add(entry.pid)
      if (entry.group === entry.pid) groups.add(entry.pid)
    }
  }
  const peopled = new Set(table.map(({ group }) => group))
  return { pids: [...members], groups: [...groups].filter((group) => peopled.has(group)) }
}

/** Environment of a process as `name=value` lines; empty when it is gone or not ours to look at. */
export function readEnvironment(pid: number): string[] {
  return readProc(pid, 'environ').split('\0')
}

/** Its argument vector, joined by spaces. */
export function readCommand(pid: number): string {
  return readProc(pid, 'cmdline').replace(/\0$/, '').replaceAll('\0', ' ')
}

export function readProcessTable(): ProcessEntry[] {
  return process.platform === 'linux' ? readProcTable() : readPsTable()
}

/** PF_KTHREAD of the kernel's sched.h. */
const KERNEL_THREAD = 0x00200000

function readProcTable(): ProcessEntry[] {
  const table: ProcessEntry[] = []
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = readProc(Number(name), 'stat')
    // proc(5): the name in parentheses may itself hold blanks and parentheses.
    const [state, parent, group, session, , , flags] = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 7)
    if (session === undefined) continue
    const isZombie = state === 'Z' || state === 'X'
    const isKernel = (Number(flags) & KERNEL_THREAD) !== 0
    table.push({
      pid: Number(name),
      parent: Number(parent),
      group: Number(group),
      session: Number(session),
      isZombie,
      isKernel,
    })
  }
  return table
}

/** Where there is no /proc: neither environments nor sessions are shown, only parents and groups. */
function readPsTable(): ProcessEntry[] {
  const text = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,pgid=,stat='], { encoding: 'utf8', maxBuffer: 64 << 20 })
  return text.split('\n').flatMap((line) => {
    const [pid, parent, group, state] = line.trim().split(/\s+/)
    if (state === undefined) return []
    const isZombie = state.startsWith('Z')
    return [{ pid: Number(pid), parent: Number(parent), group: Number(group), session: 0, isZombie, isKernel: false }]
  })
}

function hasMarker(pid: number, marker: string): boolean {
  return process.platform === 'linux' && readProc(pid, 'environ').includes(marker)
}

/** The whole table is read for every command that is killed: half the calls of readFileSync, and no memory of their own. */
let scratch = Buffer.allocUnsafeSlow(64 * 1024)

function readProc(pid: number, file: string): string {
  try {
    const fd = openSync(`/proc/${pid}/${file}`, 'r')
    try {
      return readAll(fd)
    } finally {
      closeSync(fd)
    }
  } catch {
    // Ended meanwhile, or another user's.
    return ''
  }
}

function readAll(fd: number): string {
  for (let filled = 0; ;) {
    const count = readSync(fd, scratch, filled, scratch.length - filled, null)
    filled += count
    // Files of /proc fill what they are given, or end.
    if (filled < scratch.length) return scratch.toString('latin1', 0, filled)
    const larger = Buffer.allocUnsafeSlow(scratch.length * 2)
    scratch.copy(larger)
    scratch = larger
  }
}
