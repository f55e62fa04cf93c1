import { z } from 'zod'
import type { LocalDirEntry } from '../entry.js'
import { contentOptions, hostPath, mode, text } from '../member-schemas.js'
import type { KindSchema } from './kind-schema.js'

const pattern = text(
  (value) => value.trim() !== '' && value.length <= 1000 && !/[\0\n\r]/.test(value),
  'must be one pattern of a .gitignore, at most 1000 characters',
)
const shape = {
  kind: z.literal('local_dir'),
  source: hostPath,
  exclude: z.array(pattern).max(1000).default([]),
  mode: mode.exactOptional(),
  ...contentOptions,
}

export const localDirKind: KindSchema<LocalDirEntry> = {
  schema: z.strictObject(shape),
  members: Object.keys(shape),
}
