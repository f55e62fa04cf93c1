import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { localBackend } from '@cofferdam/backend-local'
import { bindCapabilities, createHost } from '@cofferdam/core'
import type { AcquireRequest, Capability, SandboxSession, Tool, ToolResult } from '@cofferdam/core'
import type { CofferdamPlugin } from '@cofferdam/core/plugin'
import { memoryBackend } from '@cofferdam/testkit'

export const SECRET = 'hunter2-correct-horse'

/** Backends that the tools are tested on. */
export const BACKENDS: ReadonlyArray<readonly [name: string, plugin: () => CofferdamPlugin]> = [
  ['memory', () => memoryBackend()],
  ['local', () => localBackend()],
]

/** A session with capabilities bound, and all of it removed at disposal. */
export interface Bench extends AsyncDisposable {
  readonly session: SandboxSession
  readonly instructions: string
  tool(name: string): Tool
  /** Calls a tool as approved, with its text joined. */
  call(name: string, input: unknown, signal?: AbortSignal): Promise<CallResult>
  /** Ends what the capabilities started, as the end of a run does. */
  unbind(): Promise<void>
}

export interface CallResult extends ToolResult {
  readonly text: string
  /** `data`, to look into. */
  readonly facts: Readonly<Record<string, unknown>>
}

export async function openBench(
  plugin: CofferdamPlugin,
  capabilities: readonly Capability[],
  request: AcquireRequest = {},
): Promise<Bench> {
  const folder = await mkdtemp(join(tmpdir(), 'cofferdam-capabilities-'))
  const host = await createHost({
    plugins: [plugin],
    baseDir: folder,
    drainOnSignals: false,
    secrets: () => SECRET,
    logger: { debug: silent, info: silent, warn: silent, error: silent },
  })
  const close = async (): Promise<void> => {
    await host[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const session = await host.acquire({ afterRelease: 'destroy', ...request })
    const bound = await bindCapabilities(capabilities, { session, logger: quiet, runAs: null })
    const tool = (name: string): Tool => {
      const found = bound.tools.find((candidate) => candidate.name === name)
      if (found === undefined) throw new TypeError(`there is no tool ${name}`)
      return found
    }
    return {
      session,
      instructions: bound.instructions ?? '',
      tool,
      call: async (name, input, signal) => {
        const result = await tool(name).execute(input, { approved: true, ...(signal === undefined ? {} : { signal }) })
        const text = result.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
        return { ...result, text, facts: result.data as Readonly<Record<string, unknown>> }
      },
      unbind: async () => bound[Symbol.asyncDispose](),
      [Symbol.asyncDispose]: async () => {
        await bound[Symbol.asyncDispose]()
        await session.release()
        await close()
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

const silent = (): void => undefined
const quiet = { debug: silent, info: silent, warn: silent, error: silent }

/** One line for every file of the workspace, with its digest: what must be equal when nothing was changed. */
export async function digestWorkspace(session: SandboxSession): Promise<readonly string[]> {
  const { paths } = await session.files.glob('**', { includeIgnored: true, limit: 10_000 })
  const lines = paths.map(async (path) => {
    const digest = createHash('sha256').update(await session.files.read(path))
    const stat = await session.files.stat(path)
    return `${path} ${stat?.mode.toString(8)} ${digest.digest('hex')}`
  })
  return Promise.all(lines)
}
