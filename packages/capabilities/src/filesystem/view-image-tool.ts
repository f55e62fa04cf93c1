import { defineTool } from '@cofferdam/core/plugin'
import type { Tool } from '@cofferdam/core/plugin'
import { z } from 'zod'
import { answer, failure } from '../answer.js'
import { approveFiles } from './file-tools.js'
import type { FileToolContext } from './file-tools.js'
import { sniffImage } from './sniff-image.js'

interface ViewImageInput {
  readonly path: string
}

const parameters: z.ZodType<ViewImageInput> = z.strictObject({
  path: z.string().min(1).describe('Relative to the workspace, or absolute.'),
})

export function viewImageTool(context: FileToolContext, maxImageBytes: number): Tool<ViewImageInput> {
  const tool = { name: 'view_image', effects: 'read' } as const
  return defineTool({
    ...tool,
    description: `Shows an image file: PNG, JPEG, GIF or WebP, up to ${maxImageBytes} bytes.`,
    parameters,
    approval: approveFiles(context, tool, ({ path }) => [path]),
    execute: ({ path }, { signal }) =>
      answer(context.answers, async () => {
        const options = { maxBytes: maxImageBytes, ...(signal === undefined ? {} : { signal }) }
        const bytes = await context.session.files.read(path, options)
        const mediaType = sniffImage(bytes)
        if (mediaType === undefined) {
          return failure('not_an_image', `${path} is not a PNG, JPEG, GIF or WebP image`, {
            path,
            sizeBytes: bytes.length,
          })
        }
        return {
          ok: true,
          text: `${path}: ${mediaType}, ${bytes.length} bytes`,
          data: { path, mediaType, sizeBytes: bytes.length },
          images: [{ type: 'image', mediaType, bytes }],
        }
      }),
  })
}
