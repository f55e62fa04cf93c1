import { randomUUID } from 'node:crypto'
import { link, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SandboxError } from '@cofferdam/core/plugin'
import type { CreateSandbox } from '@cofferdam/core/plugin'
import { z } from 'zod'

/** What a sandbox is, on disk: whose it is, and what it was made from. Never changes. */
export type FolderLabel = Pick<CreateSandbox, 'identity' | 'workspaceRoot'>

const labelSchema: z.ZodType<FolderLabel> = z.strictObject({
  identity: z.strictObject({ deployment: z.string(), slotHash: z.string(), sessionId: z.string() }),
  workspaceRoot: z.string(),
})

/** By link: of several that make the same sandbox one writes the label, whole, and a folder without one is unfinished. */
export async function writeLabel(folder: string, { identity, workspaceRoot }: CreateSandbox): Promise<void> {
  const draft = join(folder, `label.${randomUUID()}`)
  await writeFile(draft, JSON.stringify({ identity, workspaceRoot }))
  try {
    await link(draft, labelFile(folder))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(draft)
  }
}

/** undefined when it is confirmed that there is none; what cannot be read is an error, never an absence. */
export async function findLabel(folder: string): Promise<FolderLabel | undefined> {
  try {
    return labelSchema.parse(JSON.parse(await readFile(labelFile(folder), 'utf8')))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    const reason = `the label in ${folder} cannot be read`
    throw new SandboxError('backend_unavailable', reason, { backend: 'folder', reason }, { cause: error })
  }
}

export async function labelledAtMs(folder: string): Promise<number> {
  return Math.round((await stat(labelFile(folder))).mtimeMs)
}

function labelFile(folder: string): string {
  return join(folder, 'label.json')
}
