import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { SandboxError } from '@cofferdam/core/plugin'
import type { CreateSandbox, SandboxIdentity } from '@cofferdam/core/plugin'
import { z } from 'zod'
import { errnoOf } from './map-error.js'

/** What is written beside a sandbox when it is made, and never again. */
export interface Labels {
  readonly version: 1
  readonly name: string
  readonly identity: SandboxIdentity
  readonly createdAtMs: number
  /** Random. See `markerOf`. */
  readonly marker: string
}

const MAX_LABELS_BYTES = 16 * 1024

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
    text = readRegular(file)
  } catch (error) {
    const code = errnoOf(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
  // Commands of the same user can write here: what is read is no better than what they say.
  try {
    return labelsSchema.parse(JSON.parse(text))
  } catch (error) {
    throw corruptFolder(file, 'its labels cannot be read', error)
  }
}

/** Neither follows a link nor waits for who writes to a FIFO. */
function readRegular(file: string): string {
  const fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile() || stat.size > MAX_LABELS_BYTES) throw corruptFolder(file, 'its labels are no small file')
    return readFileSync(fd, 'utf8')
  } finally {
    closeSync(fd)
  }
}

/** For a sandbox folder that was tampered with. */
export function corruptFolder(path: string, reason: string, cause?: unknown): SandboxError<'state_corrupt'> {
  const message = `The sandbox at ${path} cannot be used: ${reason}. Look at it and remove it by hand.`
  return new SandboxError('state_corrupt', message, { key: path, reason }, { backend: 'local', cause })
}

/** Marks every process of a sandbox. It begins with the id, so that forged labels never reach the processes of another. */
export function markerOf(id: string, labels: Labels): string {
  return `${id}/${labels.marker}`
}

export function makeLabels(
  request: CreateSandbox,
  made: { readonly createdAtMs: number; readonly marker: string },
): Labels {
  const { deployment, slotHash, sessionId } = request.identity
  return { version: 1, name: request.name, identity: { deployment, slotHash, sessionId }, ...made }
}
