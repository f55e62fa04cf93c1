import { spawn } from 'node:child_process'
import { readFile, mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const DEFAULT_TIMEOUT_MS = 60_000
const OUTPUT_CHARACTERS = 64 * 1024

export interface RunDriverOptions {
  /** Arguments of the driver, in `process.argv` from index 2 on. */
  readonly args?: readonly string[]
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>
  /** Killed when it takes longer. Default 60 000. */
  readonly timeoutMs?: number
  /** Called with every line that the driver prints. */
  readonly onLine?: (line: string, pid: number) => void
}

/** How a driver ended. */
export interface DriverEnd {
  /**
   * - `exited`: by itself, with `exitCode`.
   * - `killed`: by a signal that is not ours: a failpoint, or whoever was told to kill it.
   * - `timeout`: it took too long and was killed for it.
   */
  readonly how: 'exited' | 'killed' | 'timeout'
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  /** The last 64 Ki characters of each. */
  readonly stdout: string
  readonly stderr: string
}

/** Runs a TypeScript file as a process of its own, from the workspace's sources, and waits for its end. */
export async function runDriver(driver: URL | string, options: RunDriverOptions = {}): Promise<DriverEnd> {
  const path = typeof driver === 'string' ? driver : fileURLToPath(driver)
  // Found from the driver, so that the working directory does not matter.
  const tsx = pathToFileURL(createRequire(path).resolve('tsx')).href
  const child = spawn(
    process.execPath,
    ['--import', tsx, '--conditions=@cofferdam/source', path, ...(options.args ?? [])],
    {
      env: { ...process.env, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  let timedOut = false
  const timer = setTimeout(() => {
    timedOut = true
    child.kill('SIGKILL')
  }, options.timeoutMs ?? DEFAULT_TIMEOUT_MS)
  const [stdout, stderr] = [collectText(child.stdout), collectText(child.stderr)]
  const { onLine } = options
  if (onLine !== undefined) eachLine(child.stdout, (line) => onLine(line, child.pid!))
  try {
    return await new Promise<DriverEnd>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (exitCode, signal) => {
        const how = timedOut ? 'timeout' : signal === null ? 'exited' : 'killed'
        resolve({ how, exitCode, signal, stdout: stdout(), stderr: stderr() })
      })
    })
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Runs a driver that kills itself with SIGKILL where the code under test passes the failpoint `name`, or, as `name:3`, at
 * its third pass. A driver that never comes by ends as it ends: look at `how`.
 */
export async function killAtFailpoint(
  driver: URL | string,
  failpoint: string,
  options: RunDriverOptions = {},
): Promise<DriverEnd> {
  return runDriver(driver, { ...options, env: { ...options.env, COFFERDAM_FAILPOINT: failpoint } })
}

/** Runs a driver to its end and gives the failpoints that it passed, in order: the places where it can be killed. */
export async function traceFailpoints(
  driver: URL | string,
  options: RunDriverOptions = {},
): Promise<{ readonly end: DriverEnd; readonly passed: readonly string[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'cofferdam-trace-'))
  try {
    const file = join(folder, 'trace')
    const end = await runDriver(driver, { ...options, env: { ...options.env, COFFERDAM_FAILPOINT_TRACE: file } })
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return ''
      throw error
    })
    return { end, passed: text.split('\n').filter((line) => line !== '') }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function collectText(stream: NodeJS.ReadableStream): () => string {
  let text = ''
  stream.setEncoding('utf8')
  stream.on('data', (chunk: string) => (text = (text + chunk).slice(-OUTPUT_CHARACTERS)))
  return () => text
}

function eachLine(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = ''
  stream.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop()!
    for (const line of lines) onLine(line)
  })
}
