import { defineTool } from '@cofferdam/core/plugin'
import type { Tool } from '@cofferdam/core/plugin'
import type { GrepMatch, GrepResult } from '@cofferdam/core'
import { z } from 'zod'
import { answer } from '../answer.js'
import { cutCharacters } from '../bound-text.js'
import { approveFiles } from './file-tools.js'
import type { FileToolContext } from './file-tools.js'

/** Characters of a line that are shown. The session masks a line before it cuts it, and so is done here. */
const SHOWN_CHARACTERS = 300

const path = z.string().min(1).default('.').describe('Directory to look beneath. Default: the workspace.')
const includeIgnored = z.boolean().default(false).describe('Also .git and what .gitignore names.')

interface GlobInput {
  readonly pattern: string
  readonly path: string
  readonly include_ignored: boolean
  readonly limit: number
}

const globParameters: z.ZodType<GlobInput> = z.strictObject({
  pattern: z.string().min(1).describe('For example src/**/*.ts.'),
  path,
  include_ignored: includeIgnored,
  limit: z.int().min(1).max(10_000).default(1_000).describe('Paths at most.'),
})

export function globTool(context: FileToolContext): Tool<GlobInput> {
  const tool = { name: 'glob', effects: 'read' } as const
  return defineTool({
    ...tool,
    description: 'Finds files by their path.',
    parameters: globParameters,
    approval: approveFiles(context, tool, (input) => [input.path]),
    execute: (input, { signal }) =>
      answer(context.answers, async () => {
        const { paths, truncated } = await context.session.files.glob(input.pattern, {
          cwd: input.path,
          includeIgnored: input.include_ignored,
          limit: input.limit,
          ...(signal === undefined ? {} : { signal }),
        })
        const count = `${paths.length} ${paths.length === 1 ? 'file' : 'files'}${truncated ? ', and there are more' : ''}`
        return { ok: true, text: [count, ...paths].join('\n'), data: { paths, truncated } }
      }),
  })
}

interface GrepInput extends GlobInput {
  readonly glob?: string | undefined
  readonly literal: boolean
  readonly ignore_case: boolean
  readonly context: number
}

const grepParameters: z.ZodType<GrepInput> = z.strictObject({
  pattern: z.string().min(1).describe('A regular expression.'),
  path,
  glob: z.string().min(1).optional().describe('Only files whose path matches, for example **/*.ts.'),
  literal: z.boolean().default(false).describe('Take the pattern as plain text.'),
  ignore_case: z.boolean().default(false),
  context: z.int().min(0).max(20).default(0).describe('Lines before and after each match.'),
  include_ignored: includeIgnored,
  limit: z.int().min(1).max(2_000).default(200).describe('Matches at most.'),
})

export function grepTool(context: FileToolContext): Tool<GrepInput> {
  const tool = { name: 'grep', effects: 'read' } as const
  return defineTool({
    ...tool,
    description: 'Finds lines of text files. Matches are path:line: text, lines around them path-line- text.',
    parameters: grepParameters,
    approval: approveFiles(context, tool, (input) => [input.path]),
    execute: (input, { signal }) =>
      answer(context.answers, async () => {
        const result = await context.session.files.grep(input.pattern, {
          cwd: input.path,
          literal: input.literal,
          ignoreCase: input.ignore_case,
          context: input.context,
          includeIgnored: input.include_ignored,
          limit: input.limit,
          ...(input.glob === undefined ? {} : { glob: input.glob }),
          ...(signal === undefined ? {} : { signal }),
        })
        return {
          ok: true,
          text: [
            countMatches(result),
            ...result.matches.flatMap((match) => showMatch(match, context.answers.redact)),
          ].join('\n'),
          data: {
            matches: result.matches.map(({ path, line, text }) => ({
              path,
              line,
              text: shorten(context.answers.redact(text)),
            })),
            truncated: result.truncated,
            filesSearched: result.filesSearched,
            filesSkipped: result.filesSkipped,
          },
        }
      }),
  })
}

function countMatches({ matches, truncated, filesSearched, filesSkipped }: GrepResult): string {
  const count = `${matches.length} ${matches.length === 1 ? 'match' : 'matches'}${truncated ? ', and there are more' : ''}`
  const skipped = filesSkipped === 0 ? '' : `, ${filesSkipped} left out as binary or too large`
  return `${count} (${filesSearched} files searched${skipped})`
}

function showMatch({ path, line, text, before, after }: GrepMatch, redact: (text: string) => string): string[] {
  const show = (mark: ':' | '-', number: number, content: string): string =>
    `${path}${mark}${number}${mark} ${shorten(redact(content))}`
  return [
    ...before.map((content, index) => show('-', line - before.length + index, content)),
    show(':', line, text),
    ...after.map((content, index) => show('-', line + 1 + index, content)),
  ]
}

function shorten(line: string): string {
  return line.length <= SHOWN_CHARACTERS ? line : `${cutCharacters(line, SHOWN_CHARACTERS)}…`
}
