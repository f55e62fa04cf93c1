import { z } from 'zod'
import { DEFAULT_PROJECTION_ROOTS } from '../entry.js'
import type { ProjectionEntry } from '../entry.js'
import { hostPath, options, relativePath } from '../member-schemas.js'
import type { KindSchema } from './kind-schema.js'

const shape = {
  kind: z.literal('projection'),
  source: hostPath.default('.'),
  roots: z
    .array(relativePath)
    .min(1)
    .max(1000)
    .prefault([...DEFAULT_PROJECTION_ROOTS]),
  ...options,
}

export const projectionKind: KindSchema<ProjectionEntry> = {
  schema: z.strictObject(shape),
  members: Object.keys(shape),
}
