import { z } from 'zod'
import type { BindMountEntry } from '../entry.js'
import { hostPath, options } from '../member-schemas.js'
import type { KindSchema } from './kind-schema.js'

const shape = { kind: z.literal('bind_mount'), source: hostPath, readOnly: z.boolean().default(true), ...options }

export const bindMountKind: KindSchema<BindMountEntry> = {
  schema: z.strictObject(shape),
  members: Object.keys(shape),
}
