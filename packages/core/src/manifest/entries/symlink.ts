import { z } from 'zod'
import type { SymlinkEntry } from '../entry.js'
import { contentOptions, text } from '../member-schemas.js'
import type { KindSchema } from './kind-schema.js'

const shape = {
  kind: z.literal('symlink'),
  // Where it may lead depends on where it lies: see place-entries.ts.
  target: text(
    (value) => value !== '' && Buffer.byteLength(value) <= 4095 && !value.includes('\0'),
    'must be a path of 1 to 4095 bytes without NUL',
  ),
  ...contentOptions,
}

export const symlinkKind: KindSchema<SymlinkEntry> = {
  schema: z.strictObject(shape),
  members: Object.keys(shape),
}
