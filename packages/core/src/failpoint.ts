import { appendFileSync } from 'node:fs'

/**
 * Marks a place where a crash must do no harm. Tests name one in `COFFERDAM_FAILPOINT` (`name`, or `name:3` for the third
 * pass) and the process kills itself there, as hard as a power cut does to a process; with `COFFERDAM_FAILPOINT_TRACE`
 * every pass is written to that file. Otherwise it costs one comparison.
 */
export function failpoint(name: string): void {
  if (!armed) return
  if (traceFile !== undefined) appendFileSync(traceFile, `${name}\n`)
  if (name === target && --passesLeft === 0) process.kill(process.pid, 'SIGKILL')
}

const traceFile = process.env['COFFERDAM_FAILPOINT_TRACE']
const [target = '', passes = '1'] = (process.env['COFFERDAM_FAILPOINT'] ?? '').split(':')
const armed = traceFile !== undefined || target !== ''
let passesLeft = Number(passes)
