import { z } from 'zod'
import type { DirEntry } from '../entry.js'
import { contentOptions, mode } from '../member-schemas.js'
import type { KindSchema } from './kind-schema.js'

const shape = { kind: z.literal('dir'), mode: mode.default(0o755), ...contentOptions }

/** `children` are entries of their own by the time this is asked. */
export const dirKind: KindSchema<DirEntry> = {
  schema: z.strictObject(shape),
  members: [...Object.keys(shape), 'children'],
}
