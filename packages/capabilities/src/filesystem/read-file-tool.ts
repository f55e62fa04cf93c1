import { defineTool } from '@cofferdam/core/plugin'
import type { Tool } from '@cofferdam/core/plugin'
import { z } from 'zod'
import { answer, failure } from '../answer.js'
import type { Answer } from '../answer.js'
import { cutCharacters } from '../bound-text.js'
import { approveFiles } from './file-tools.js'
import type { FileToolContext } from './file-tools.js'
import { sniffImage } from './sniff-image.js'

/** All of a file is masked and counted, however little of it is shown; larger ones are for commands. */
const MAX_FILE_BYTES = 16 * 1024 * 1024
const MAX_LINE_CHARACTERS = 2_000
const DEFAULT_LINES = 2_000
/** Room for the line that says what is shown. */
const HEADER_BYTES = 512

interface ReadFileInput {
  readonly path: string
  /** From 1. */
  readonly offset: number
  readonly limit: number
}

const parameters: z.ZodType<ReadFileInput> = z.strictObject({
  path: z.string().min(1).describe('Relative to the workspace, or absolute.'),
  offset: z.int().min(1).default(1).describe('First line, from 1.'),
  limit: z.int().min(1).max(100_000).default(DEFAULT_LINES).describe('Lines at most.'),
})

export function readFileTool(context: FileToolContext): Tool<ReadFileInput> {
  const tool = { name: 'read_file', effects: 'read' } as const
  return defineTool({
    ...tool,
    description:
      'Reads lines of a text file. The first line of the result says which lines are shown and how many there are; ' +
      'read on with offset.',
    parameters,
    approval: approveFiles(context, tool, ({ path }) => [path]),
    execute: ({ path, offset, limit }, { signal }) =>
      answer(context.answers, async () => {
        const options = { maxBytes: MAX_FILE_BYTES, ...(signal === undefined ? {} : { signal }) }
        const bytes = await context.session.files.read(path, options)
        if (bytes.subarray(0, 8_192).includes(0)) return binary(path, bytes)
        // Masked as a whole: a secret of several lines would not be known in a window of them.
        const text = context.answers.redact(new TextDecoder().decode(bytes))
        return showLines({ path, offset, limit, text, maxBytes: context.answers.maxOutputBytes - HEADER_BYTES })
      }),
  })
}

function binary(path: string, bytes: Uint8Array): Answer {
  const mediaType = sniffImage(bytes)
  const advice = mediaType === undefined ? 'use a command that knows its format' : 'use view_image'
  return failure('binary_file', `${path} is not text (${bytes.length} bytes); ${advice}`, {
    path,
    sizeBytes: bytes.length,
    mediaType: mediaType ?? null,
  })
}

interface Window extends ReadFileInput {
  readonly text: string
  readonly maxBytes: number
}

function showLines({ path, text, offset, limit, maxBytes }: Window): Answer {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  const totalLines = lines.length
  if (totalLines === 0) return shown(`${path} is empty.`, { path, startLine: 0, endLine: 0, totalLines, text: '' })
  if (offset > totalLines) {
    return failure('out_of_range', `${path} has ${totalLines} lines; offset ${offset} is beyond them`, {
      path,
      totalLines,
    })
  }
  const window: string[] = []
  let sizeBytes = 0
  for (const line of lines.slice(offset - 1, offset - 1 + limit)) {
    const cut = cutLine(line)
    sizeBytes += Buffer.byteLength(cut) + 1
    if (sizeBytes > maxBytes && window.length > 0) break
    window.push(cut)
  }
  const endLine = offset + window.length - 1
  const more = endLine < totalLines ? `; read on with offset ${endLine + 1}` : ''
  const body = window.join('\n')
  const data = { path, startLine: offset, endLine, totalLines, text: body }
  return shown(`${path}: lines ${offset}-${endLine} of ${totalLines}${more}\n${body}`, data)
}

function shown(text: string, data: Answer['data']): Answer {
  return { ok: true, text, data }
}

function cutLine(line: string): string {
  if (line.length <= MAX_LINE_CHARACTERS) return line
  return `${cutCharacters(line, MAX_LINE_CHARACTERS)} [… ${line.length - MAX_LINE_CHARACTERS} more characters]`
}
