import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { bundleDriver } from '../../test/bundle-driver.js'

const driver = await bundleDriver(new URL('store.driver.ts', import.meta.url))

function argumentsOf(job: string, options: object): string[] {
  return [driver, job, JSON.stringify(options)]
}

/** Runs a job of the driver to its end while this process stands still. */
export function runDriverSync(job: string, options: object): void {
  const { status, stderr } = spawnSync(process.execPath, argumentsOf(job, options), { encoding: 'utf8' })
  if (status !== 0) throw new TypeError(`the driver failed: ${stderr}`)
}

/** A job of the driver in a process of its own. */
export interface DriverProcess {
  readonly process: ChildProcess
  /** What it has said so far. */
  readonly lines: unknown[]
  /** The next thing it says. */
  next(): Promise<unknown>
  /** Resolves when it has ended, by itself or not. */
  readonly ended: Promise<{
    readonly code: number | null
    readonly signal: NodeJS.Signals | null
    readonly stderr: string
  }>
  kill(): Promise<void>
}

export function startDriver(job: string, options: object, env: Readonly<Record<string, string>> = {}): DriverProcess {
  const child = spawn(process.execPath, argumentsOf(job, options), { env: { ...process.env, ...env } })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const lines: unknown[] = []
  const waiting: Array<(line: unknown) => void> = []
  let taken = 0
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(JSON.parse(line))
    if (waiting.length > 0) waiting.shift()?.(lines[taken++])
  })
  const ended = once(child, 'close').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
    stderr,
  }))
  return {
    process: child,
    lines,
    ended,
    async next() {
      if (taken < lines.length) return lines[taken++]
      const said = new Promise<unknown>((resolve) => waiting.push(resolve))
      return await Promise.race([said, ended.then((how) => Promise.reject(new TypeError(JSON.stringify(how))))])
    },
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
