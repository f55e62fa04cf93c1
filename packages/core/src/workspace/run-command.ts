import { randomUUID } from 'node:crypto'
import type { ProcessExit, SpawnRequest } from '../contracts/process.js'
import type { WorkspaceSandbox } from './filling.js'

/** Bytes of each output stream that are kept, from its end. */
const KEPT_BYTES = 8192

export interface CommandOutcome extends ProcessExit {
  /** The last {@link KEPT_BYTES} of it. */
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command in the sandbox to its end. Anything but a start that failed is an outcome. */
export async function runCommand(
  sandbox: WorkspaceSandbox,
  request: Omit<SpawnRequest, 'operationId' | 'background'>,
): Promise<CommandOutcome> {
  const process = await sandbox.spawn({ ...request, operationId: `materialize-${randomUUID()}` })
  try {
    const [stdout, stderr, exit] = await Promise.all([tail(process.stdout), tail(process.stderr), process.wait()])
    return { ...exit, stdout, stderr }
  } finally {
    await process[Symbol.asyncDispose]()
  }
}

async function tail(stream: ReadableStream<Uint8Array>): Promise<string> {
  let kept = Buffer.alloc(0)
  for await (const chunk of stream) {
    kept = Buffer.concat([kept, chunk])
    if (kept.length > 2 * KEPT_BYTES) kept = kept.subarray(kept.length - KEPT_BYTES)
  }
  return kept.subarray(Math.max(0, kept.length - KEPT_BYTES)).toString('utf8')
}
