import type { z } from 'zod'
import type { Entry } from '../entry.js'

/** How one kind of entry is read. */
export interface KindSchema<E extends Entry = Entry> {
  /** Strict: an unknown member is refused. */
  readonly schema: z.ZodType<E>
  /** Every member a user may write, for suggestions. */
  readonly members: readonly string[]
}
