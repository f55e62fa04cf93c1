import { defineTool, isSandboxError } from '@cofferdam/core/plugin'
import type { FileType, Tool } from '@cofferdam/core/plugin'
import type { SessionFiles } from '@cofferdam/core'
import { z } from 'zod'
import { answer } from '../answer.js'
import { approveFiles } from './file-tools.js'
import type { FileToolContext } from './file-tools.js'

interface ListFilesInput {
  readonly path: string
  readonly depth: number
  readonly limit: number
}

const parameters: z.ZodType<ListFilesInput> = z.strictObject({
  path: z.string().min(1).default('.').describe('A directory. Default: the workspace.'),
  depth: z.int().min(1).max(20).default(1).describe('How many levels of directories.'),
  limit: z.int().min(1).max(10_000).default(1_000).describe('Entries at most, upper levels first.'),
})

interface Listed {
  /** Relative to the directory that was asked for. */
  readonly path: string
  readonly type: FileType
}

export function listFilesTool(context: FileToolContext): Tool<ListFilesInput> {
  const tool = { name: 'list_files', effects: 'read' } as const
  return defineTool({
    ...tool,
    description: 'Lists a directory, hidden files too. Directories end with /, links with @. .git is not entered.',
    parameters,
    approval: approveFiles(context, tool, ({ path }) => [path]),
    execute: ({ path, depth, limit }) =>
      answer(context.answers, async () => {
        const { entries, truncated } = await walk(context.session.files, { path, depth, limit })
        const lines = entries.map((entry) => `${entry.path}${MARKS[entry.type] ?? ''}`)
        const count = `${entries.length} ${entries.length === 1 ? 'entry' : 'entries'}${truncated ? ', and there are more' : ''}`
        const data = { path, truncated, entries: entries.map((entry) => ({ path: entry.path, type: entry.type })) }
        return { ok: true, text: [`${path}: ${count}`, ...lines].join('\n'), data }
      }),
  })
}

const MARKS: Readonly<Partial<Record<FileType, string>>> = { directory: '/', symlink: '@', fifo: '|', socket: '=' }

/** Level by level, so that a deep directory does not use up the limit. */
async function walk(
  files: SessionFiles,
  { path, depth, limit }: ListFilesInput,
): Promise<{ entries: Listed[]; truncated: boolean }> {
  const entries: Listed[] = []
  let level = ['']
  for (let at = 0; at < depth && level.length > 0; at++) {
    const next: string[] = []
    for (const folder of level) {
      for (const { name, type } of await listAt(files, path, folder)) {
        if (entries.length === limit) return { entries: inOrder(entries), truncated: true }
        entries.push({ path: folder + name, type })
        if (type === 'directory' && name !== '.git') next.push(`${folder}${name}/`)
      }
    }
    level = next
  }
  return { entries: inOrder(entries), truncated: false }
}

/** A directory below the first that is gone by now, or may not be read, lists nothing. */
async function listAt(files: SessionFiles, path: string, folder: string): ReturnType<SessionFiles['list']> {
  if (folder === '') return files.list(path)
  try {
    return await files.list(`${path}/${folder}`)
  } catch (error) {
    if (['not_found', 'not_a_directory', 'path_denied'].some((code) => isSandboxError(error) && error.code === code))
      return []
    throw error
  }
}

/** A directory right before what is in it. */
function inOrder(entries: readonly Listed[]): Listed[] {
  const key = ({ path }: Listed): string => path.replaceAll('/', '\0')
  return [...entries].sort((a, b) => (key(a) < key(b) ? -1 : 1))
}
