import { z } from 'zod'
import type { FileEntry } from '../entry.js'
import { contentOptions, isWellFormed, mode, text } from '../member-schemas.js'
import type { KindSchema } from './kind-schema.js'

const shape = {
  kind: z.literal('file'),
  text: text(isWellFormed, 'holds half of a surrogate pair, which UTF-8 cannot say; write base64').exactOptional(),
  base64: z
    .string()
    .transform((value, context): string => {
      const canonical = Buffer.from(value, 'base64').toString('base64')
      if (canonical === value.padEnd(canonical.length, '=')) return canonical
      context.issues.push({ code: 'custom', message: 'must be base64 (RFC 4648, section 4)', input: '' })
      return z.NEVER
    })
    .exactOptional(),
  mode: mode.default(0o644),
  ...contentOptions,
}

export const fileKind: KindSchema<FileEntry> = {
  schema: z.strictObject(shape).refine((entry) => (entry.text === undefined) !== (entry.base64 === undefined), {
    error: "needs exactly one of 'text' and 'base64'; an empty file is text: ''",
  }),
  members: Object.keys(shape),
}
