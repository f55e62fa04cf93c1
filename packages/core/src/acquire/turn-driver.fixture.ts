import { spawn } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { bundleDriver } from '../../test/bundle-driver.js'
import type { Seen, TurnJob } from './turn.driver.js'

const program = await bundleDriver(new URL('turn.driver.ts', import.meta.url))

export interface DriverEnd {
  readonly killed: boolean
  readonly output: string
}

export type RunningDriver = ChildProcessByStdio<Writable, Readable, Readable>

export function startDriver(job: TurnJob, env: Readonly<Record<string, string>> = {}): RunningDriver {
  return spawn(process.execPath, [program, JSON.stringify(job)], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
}

/** Runs the driver to its end, which may be a SIGKILL of its own. Any other failure is thrown with what it said. */
export function endOf(child: RunningDriver): Promise<DriverEnd> {
  let output = ''
  let complaints = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (signal === 'SIGKILL') resolve({ killed: true, output })
      else if (code === 0) resolve({ killed: false, output })
      else reject(new Error(`the driver ended with ${String(signal ?? code)}: ${complaints}`))
    })
  })
}

/** A folder with everything of one history of turns. */
export class CrashPlace {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'cofferdam-crash-'))

  turn(job: Omit<TurnJob, 'folder' | 'do'> = {}, failpoint = ''): Promise<DriverEnd> {
    return endOf(startDriver({ ...job, do: 'turn', folder: this.folder }, { COFFERDAM_FAILPOINT: failpoint }))
  }

  async look(): Promise<Seen> {
    return JSON.parse((await endOf(startDriver({ do: 'look', folder: this.folder }))).output) as Seen
  }

  async reap(unsaved: 'save' | 'keep' | 'discard'): Promise<{
    readonly removed: readonly unknown[]
    readonly kept: readonly unknown[]
    readonly failures: readonly string[]
  }> {
    const { output } = await endOf(startDriver({ do: 'reap', folder: this.folder, reap: { unsaved } }))
    return JSON.parse(output) as never
  }

  /** The highest number whose both files were written, and the highest that was begun. */
  progress(): { readonly wrote: number; readonly writing: number } {
    const path = join(this.folder, 'progress')
    const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []
    const highest = (word: string): number =>
      Math.max(0, ...lines.filter((line) => line.startsWith(`${word} `)).map((line) => Number(line.split(' ')[1])))
    return { wrote: highest('wrote'), writing: highest('writing') }
  }

  /** What a dead host may have left: folders of sandboxes, processes in them, mounts. */
  leftovers(): readonly string[] {
    const sandboxes = join(this.folder, 'sandboxes')
    const folders = existsSync(sandboxes) ? readdirSync(sandboxes, { recursive: true }).map(String) : []
    const inFolder = (text: string): boolean => text.includes(this.folder)
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n').filter(inFolder)
    return [...folders.filter((path) => /(^|\/)(workspace|control)$/.test(path)), ...mounts, ...this.processes()]
  }

  processes(): readonly string[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
      .filter((pid) => {
        try {
          return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`${this.folder}/`)
        } catch {
          return false
        }
      })
      .map((pid) => `process ${pid}`)
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}
