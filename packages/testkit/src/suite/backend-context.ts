import { randomBytes } from 'node:crypto'
import type {
  BackendFeatures,
  CreateSandbox,
  ProcessExit,
  Sandbox,
  SandboxClient,
  SandboxProcess,
  SpawnRequest,
} from '@cofferdam/core/plugin'
import { ConformanceFailure } from './assertions.js'
import type { BackendTarget } from './backend-target.js'

/** How long a case waits for what must happen at once, on a loaded machine. */
const PATIENCE_MS = 15_000
const DEFAULT_ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' }

export interface RunOptions extends Partial<Omit<SpawnRequest, 'command' | 'stdin'>> {
  /** Written to the command's standard input, which is then closed. */
  readonly input?: string | Uint8Array
}

/** What a command gave. */
export interface RunResult extends ProcessExit {
  readonly stdout: string
  readonly stderr: string
  readonly stdoutBytes: Uint8Array
}

/** What a case works with. Everything that it makes through here is removed after it, last made first. */
export class BackendContext {
  /** Random for every case: what commands compute from it cannot be known in advance. */
  readonly nonce: string = randomBytes(6).toString('hex')
  readonly client: SandboxClient
  readonly features: BackendFeatures
  readonly #target: BackendTarget
  readonly #deployment: string
  readonly #cleanup: (() => Promise<unknown>)[] = []
  #names = 0
  #operations = 0

  constructor(target: BackendTarget, client: SandboxClient, deployment: string) {
    this.#target = target
    this.#deployment = deployment
    this.client = client
    this.features = client.features
  }

  /** A complete request under a new name, for a sandbox of this case. */
  request(changes: Partial<CreateSandbox> = {}): CreateSandbox {
    const name = `case-${this.nonce}-${this.#names++}`
    return {
      name,
      identity: { deployment: this.#deployment, slotHash: Buffer.from(name).toString('hex'), sessionId: name },
      workspaceRoot: this.#target.workspaceRoot ?? '/workspace',
      environment: this.#target.environment ?? DEFAULT_ENVIRONMENT,
      mounts: [],
      limits: { memoryBytes: null, cpus: null, pids: null, diskBytes: null },
      network: this.#target.network ?? { kind: this.features.network.includes('none') ? 'none' : 'open' },
      users: 'off',
      entrypoint: 'ignore',
      fromNative: null,
      requires: {},
      ...changes,
    }
  }

  /** Creates without starting; removed after the case. */
  async create(request: CreateSandbox = this.request()): Promise<Sandbox> {
    const sandbox = await this.client.create(request)
    this.defer(() => this.client.delete(sandbox.state))
    this.defer(async () => sandbox[Symbol.asyncDispose]())
    return sandbox
  }

  /** A sandbox that runs, under fence 1. */
  async sandbox(changes: Partial<CreateSandbox> = {}): Promise<Sandbox> {
    const sandbox = await this.create(this.request(changes))
    await sandbox.start({ fence: 1n })
    return sandbox
  }

  /** Another host's client of the same provider. */
  async otherClient(): Promise<SandboxClient> {
    const client = await this.#target.create({ deployment: this.#deployment })
    this.defer(async () => client[Symbol.asyncDispose]())
    return client
  }

  /** Spawns with a new operation id; disposed after the case. */
  async spawn(
    sandbox: Sandbox,
    command: SpawnRequest['command'],
    options: Partial<SpawnRequest> = {},
  ): Promise<SandboxProcess> {
    const process = await sandbox.spawn({ operationId: this.operationId(), timeoutMs: 60_000, ...options, command })
    this.defer(async () => process[Symbol.asyncDispose]())
    return process
  }

  /** Runs a command to its end with all its output. */
  async run(sandbox: Sandbox, command: SpawnRequest['command'], options: RunOptions = {}): Promise<RunResult> {
    const { input, ...rest } = options
    const process = await this.spawn(sandbox, command, { ...rest, stdin: input === undefined ? 'closed' : 'pipe' })
    const feed = async (): Promise<void> => {
      if (input === undefined) return
      const writer = process.stdin.getWriter()
      // A command may end without having read everything.
      await writer.write(typeof input === 'string' ? new TextEncoder().encode(input) : input).catch(() => {})
      await writer.close().catch(() => {})
    }
    const [stdoutBytes, stderr, exit] = await this.within(
      `the end of ${JSON.stringify(command).slice(0, 100)}`,
      Promise.all([readBytes(process.stdout), new Response(process.stderr).text(), process.wait(), feed()]),
      60_000,
    )
    return { ...exit, stdoutBytes, stdout: new TextDecoder('utf-8', { ignoreBOM: true }).decode(stdoutBytes), stderr }
  }

  /** As {@link run}, for a command that has to succeed; gives its output. */
  async output(sandbox: Sandbox, command: SpawnRequest['command'], options: RunOptions = {}): Promise<string> {
    const result = await this.run(sandbox, command, options)
    if (result.exitCode === 0) return result.stdout
    throw new ConformanceFailure(`exit of ${JSON.stringify(command).slice(0, 200)}`, 0, result)
  }

  /** Writes a command's input and closes it. A command that ends in between is no failure of the writer. */
  async send(process: SandboxProcess, text: string): Promise<void> {
    const writer = process.stdin.getWriter()
    await writer.write(bytesOf(text))
    await writer.close().catch(() => {})
  }

  /** For a promise that is awaited later: a case that fails before then must not end the whole run. */
  meanwhile<T>(promise: Promise<T>): Promise<T> {
    promise.catch(() => {})
    return promise
  }

  operationId(): string {
    return `op-${this.nonce}-${this.#operations++}`
  }

  /** Called after the case, also when it failed. What it throws fails the case. */
  defer(clean: () => Promise<unknown>): void {
    this.#cleanup.push(clean)
  }

  /** Fails when the promise takes longer than the bound: nothing here waits for ever. */
  async within<T>(what: string, promise: Promise<T>, boundMs: number = PATIENCE_MS): Promise<T> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new ConformanceFailure(what, `within ${boundMs} ms`, 'still waiting')), boundMs)
    })
    try {
      return await Promise.race([promise, late])
    } finally {
      clearTimeout(timer)
    }
  }

  /** Asks again and again until the answer is yes. */
  async eventually(what: string, probe: () => Promise<boolean>, boundMs: number = PATIENCE_MS): Promise<void> {
    const end = performance.now() + boundMs
    for (let pauseMs = 2; !(await probe()); pauseMs = Math.min(100, pauseMs * 2)) {
      if (performance.now() > end) throw new ConformanceFailure(what, `within ${boundMs} ms`, 'still not so')
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }

  /** Attempts every cleanup, last first, and gives all failures. */
  async cleanUp(): Promise<unknown[]> {
    const failures: unknown[] = []
    for (let clean = this.#cleanup.pop(); clean !== undefined; clean = this.#cleanup.pop()) {
      try {
        await this.within('cleaning up after the case', clean())
      } catch (error) {
        failures.push(error)
      }
    }
    return failures
  }
}

export async function readBytes(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  // Not by a Response, which refuses a stream that was read from before.
  for await (const chunk of stream as AsyncIterable<Uint8Array>) chunks.push(chunk)
  return new Uint8Array(Buffer.concat(chunks))
}

export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}
