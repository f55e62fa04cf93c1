import { defineTool, isSandboxError } from '@cofferdam/core/plugin'
import type { Tool } from '@cofferdam/core/plugin'
import { z } from 'zod'
import { answer, failure } from '../answer.js'
import { approveFiles } from './file-tools.js'
import type { FileToolContext } from './file-tools.js'

const path = z.string().min(1).describe('Relative to the workspace, or absolute.')

interface WriteInput {
  readonly path: string
  readonly content: string
}

const writeParameters: z.ZodType<WriteInput> = z.strictObject({
  path,
  content: z.string().describe('The whole content of the file.'),
})

export function writeFileTool(context: FileToolContext): Tool<WriteInput> {
  const tool = { name: 'write_file', effects: 'write' } as const
  return defineTool({
    ...tool,
    description: 'Writes a text file as a whole: makes it, with its directories, or replaces what is there.',
    parameters: writeParameters,
    approval: approveFiles(context, tool, (input) => [input.path]),
    execute: (input, { signal }) =>
      answer(context.answers, async () => {
        const { files } = context.session
        const created = !(await files.exists(input.path))
        await files.write(input.path, input.content, signal === undefined ? {} : { signal })
        const sizeBytes = Buffer.byteLength(input.content)
        const text = `${created ? 'Made' : 'Replaced'} ${input.path} (${sizeBytes} bytes).`
        return { ok: true, text, data: { path: input.path, created, sizeBytes } }
      }),
  })
}

interface EditInput {
  readonly path: string
  readonly old_text: string
  readonly new_text: string
  readonly replace_all: boolean
}

const editParameters: z.ZodType<EditInput> = z.strictObject({
  path,
  old_text: z.string().min(1).describe('Text of the file, exactly as it is; enough of it to occur once.'),
  new_text: z.string().describe('What stands there instead.'),
  replace_all: z.boolean().default(false).describe('Replace every occurrence.'),
})

export function editFileTool(context: FileToolContext): Tool<EditInput> {
  const tool = { name: 'edit_file', effects: 'write' } as const
  return defineTool({
    ...tool,
    description: 'Replaces text that occurs exactly once in a file, or with replace_all every occurrence.',
    parameters: editParameters,
    approval: approveFiles(context, tool, (input) => [input.path]),
    execute: (input) =>
      answer(context.answers, async () => {
        const edit = { oldText: input.old_text, newText: input.new_text, replaceAll: input.replace_all }
        try {
          const { replacements } = await context.session.files.edit(input.path, edit)
          const text = `Replaced ${replacements} ${replacements === 1 ? 'occurrence' : 'occurrences'} in ${input.path}.`
          return { ok: true, text, data: { path: input.path, replacements } }
        } catch (error) {
          if (!isSandboxError(error, 'invalid_argument') || error.details.argument !== 'oldText') throw error
          // In the words of this tool's parameters.
          const reason = error.details.reason
            .replace('oldText', 'old_text')
            .replace('newText', 'new_text')
            .replace('replaceAll', 'replace_all')
          return failure('edit_conflict', `${input.path} is as it was: ${reason}`, { path: input.path, reason })
        }
      }),
  })
}
