import { z } from 'zod'
import type { LocalFileEntry } from '../entry.js'
import { contentOptions, hostPath, mode } from '../member-schemas.js'
import type { KindSchema } from './kind-schema.js'

const shape = { kind: z.literal('local_file'), source: hostPath, mode: mode.exactOptional(), ...contentOptions }

export const localFileKind: KindSchema<LocalFileEntry> = {
  schema: z.strictObject(shape),
  members: Object.keys(shape),
}
