import { readFileSync } from 'node:fs'
import type { CreateSandbox, SandboxIdentity } from '@cofferdam/core/plugin'
import { z } from 'zod'
import { errnoOf } from './map-error.js'

/** What is written beside a sandbox when it is made, and never again. */
export interface Labels {
  readonly version: 1
  readonly name: string
  readonly identity: SandboxIdentity
  readonly createdAtMs: number
  /** In the environment of every process of the sandbox: nobody else can know it. */
  readonly marker: string
}

const labelsSchema: z.ZodType<Labels> = z.strictObject({
  version: z.literal(1),
  name: z.string(),
  identity: z.strictObject({ deployment: z.string(), slotHash: z.string(), sessionId: z.string() }),
  createdAtMs: z.number(),
  marker: z.string().regex(/^[0-9a-f]{32}$/),
})

/** The labels in a file. Undefined when there is none; what cannot be read throws, for unknown is not absent. */
export function findLabels(file: string): Labels | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const code = errnoOf(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
  return labelsSchema.parse(JSON.parse(text))
}

export function makeLabels(
  request: CreateSandbox,
  made: { readonly createdAtMs: number; readonly marker: string },
): Labels {
  const { deployment, slotHash, sessionId } = request.identity
  return { version: 1, name: request.name, identity: { deployment, slotHash, sessionId }, ...made }
}
