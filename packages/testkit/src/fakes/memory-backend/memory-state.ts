import { z } from 'zod'
import type { ZodType } from 'zod'
import type { Machine } from './process/machine.js'

/** Points to a sandbox of a memory world. */
export type MemoryState = {
  readonly version: 1
  readonly id: string
  readonly name: string
  readonly deployment: string
}

export const memoryStateSchema: ZodType<MemoryState> = z.strictObject({
  version: z.literal(1),
  id: z.string().regex(/^mem-[0-9a-f]{16}$/),
  name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/),
  deployment: z.string().min(1).max(1_024),
})

export function stateOf(machine: Machine): MemoryState {
  return { version: 1, id: machine.id, name: machine.name, deployment: machine.identity.deployment }
}
