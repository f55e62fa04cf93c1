import { spawn } from 'node:child_process'
import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface ExampleRun {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
}

/** An empty folder for an example to run in. Disposal removes it and all that the example left. */
export interface ExampleFolder extends AsyncDisposable {
  readonly path: string
  /** Runs the program as `node program.ts` would, in this folder, with the packages read from their sources. */
  run(program: URL, args?: readonly string[]): Promise<ExampleRun>
  list(): Promise<string[]>
}

export async function exampleFolder(): Promise<ExampleFolder> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'cofferdam-example-')))
  return {
    path,
    run: (program, args = []) => runProgram(program, args, path),
    list: () => readdir(path),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  }
}

function runProgram(program: URL, args: readonly string[], cwd: string): Promise<ExampleRun> {
  const loader = ['--conditions=@cofferdam/source', '--import', import.meta.resolve('tsx')]
  const tsconfig = fileURLToPath(new URL('../tsconfig.json', import.meta.url))
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...loader, fileURLToPath(program), ...args], {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, TSX_TSCONFIG_PATH: tsconfig },
    })
    const text = { stdout: '', stderr: '' }
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text.stdout += chunk))
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (text.stderr += chunk))
    child.once('error', reject)
    child.once('close', (exitCode) => resolve({ exitCode, ...text }))
  })
}
