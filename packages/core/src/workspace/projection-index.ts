import { z } from 'zod'
import type { SandboxFiles } from '../contracts/files.js'
import { isSandboxError } from '../errors/sandbox-error.js'
import { comparePaths } from '../path/path-bytes.js'
import { parseRelativePath } from '../path/relative-path.js'

/** What projections have put into a workspace. Kept in the control folder, so that what is gone on the host can go here. */
export interface ProjectionIndex {
  readonly version: 1
  /** Workspace-relative, files and links, in order. */
  readonly files: readonly string[]
  /** Directories, in order. */
  readonly directories: readonly string[]
}

export const EMPTY_INDEX: ProjectionIndex = { version: 1, files: [], directories: [] }

const MAX_INDEX_BYTES = 32 * 1024 * 1024
const path = z.string().refine(isNormalised)
const schema: z.ZodType<ProjectionIndex> = z.strictObject({
  version: z.literal(1),
  files: z.array(path),
  directories: z.array(path),
})

/**
 * Reads the index. Commands can write where it lies, so it is believed only as far as it cannot harm: one that is not
 * well-formed is none, and what no longer comes from the host then stays in the workspace.
 */
export async function readProjectionIndex(files: SandboxFiles, place: string): Promise<ProjectionIndex> {
  try {
    const stat = await files.stat(place)
    if (stat?.type !== 'file' || stat.sizeBytes > MAX_INDEX_BYTES) return EMPTY_INDEX
    const chunks: Uint8Array[] = []
    for await (const chunk of await files.read(place, { length: MAX_INDEX_BYTES })) chunks.push(chunk)
    const parsed = schema.safeParse(JSON.parse(Buffer.concat(chunks).toString('utf8')))
    return parsed.success ? parsed.data : EMPTY_INDEX
  } catch (error) {
    if (error instanceof SyntaxError || isSandboxError(error, 'not_found')) return EMPTY_INDEX
    throw error
  }
}

export async function writeProjectionIndex(files: SandboxFiles, place: string, index: ProjectionIndex): Promise<void> {
  await files.write(place, Buffer.from(JSON.stringify(index)), { mode: 0o600 })
}

/** The index of both. */
export function unionIndex(a: ProjectionIndex, b: ProjectionIndex): ProjectionIndex {
  return makeIndex([...a.files, ...b.files], [...a.directories, ...b.directories])
}

export function makeIndex(files: Iterable<string>, directories: Iterable<string>): ProjectionIndex {
  return {
    version: 1,
    files: [...new Set(files)].sort(comparePaths),
    directories: [...new Set(directories)].sort(comparePaths),
  }
}

export function sameIndex(a: ProjectionIndex, b: ProjectionIndex): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

function isNormalised(text: string): boolean {
  try {
    return parseRelativePath(text) === text
  } catch {
    return false
  }
}
