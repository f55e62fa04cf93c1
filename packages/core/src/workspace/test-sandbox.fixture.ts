import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { BackendFeatures } from '../contracts/features.js'
import type { ProcessExit, SandboxProcess, SpawnRequest } from '../contracts/process.js'
import { SandboxError } from '../errors/sandbox-error.js'
import { createHostFiles } from '../host-files/host-files.js'
import type { WorkspaceSandbox } from './filling.js'

/** A folder of this host as the place of a workspace, with real files and real commands and nothing else. */
export interface TestSandbox extends AsyncDisposable {
  readonly sandbox: WorkspaceSandbox
  /** Host paths. */
  readonly workspace: string
  readonly control: string
}

export async function openTestSandbox(): Promise<TestSandbox> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'cofferdam-workspace-')))
  const paths = { workspace: join(folder, 'workspace'), control: join(folder, 'control') }
  mkdirSync(paths.workspace)
  mkdirSync(paths.control)
  const files = createHostFiles({ roots: [{ path: folder, readOnly: false }] })
  const sandbox = { features, files, paths, spawn: (request: SpawnRequest) => start(request) }
  return {
    sandbox,
    ...paths,
    [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

const features: BackendFeatures = {
  isolation: 'none',
  network: ['open'],
  tty: false,
  killTree: 'best-effort',
  fencing: false,
  pause: false,
  freeze: false,
  ports: false,
  limits: { memory: false, cpu: false, pids: false, disk: false },
  users: false,
  bindMounts: false,
  vaults: false,
  reattach: false,
  persistentWorkspace: true,
  nativeSnapshot: false,
  fork: false,
  foldsCase: false,
  byteNames: true,
}

async function start({ operationId, command, cwd, env }: SpawnRequest): Promise<SandboxProcess> {
  const [program, ...args] = typeof command === 'string' ? ['sh', '-c', command] : command
  const child = spawn(program!, args, {
    ...(cwd === undefined ? {} : { cwd }),
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exit = ended(child)
  await new Promise((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (cause) => {
      reject(new SandboxError('exec_not_started', cause.message, { reason: cause.message }, { cause }))
    })
  })
  return {
    id: operationId,
    stdin: new WritableStream(),
    stdout: Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
    stderr: Readable.toWeb(child.stderr) as ReadableStream<Uint8Array>,
    resize: () => Promise.resolve(),
    kill: async () => {
      child.kill('SIGKILL')
      await exit
    },
    wait: () => exit,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      await exit
    },
  }
}

function ended(child: ChildProcess): Promise<ProcessExit> {
  return new Promise((resolve) => {
    child.once('close', (exitCode, signal) =>
      resolve({ exitCode, signal: signal as ProcessExit['signal'], timedOut: false }),
    )
    child.once('error', () => resolve({ exitCode: null, signal: null, timedOut: false }))
  })
}
