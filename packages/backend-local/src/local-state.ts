import { createHash } from 'node:crypto'
import type { SandboxIdentity } from '@cofferdam/core/plugin'
import { z } from 'zod'

/** With which another process finds a sandbox again. `id` names a folder beneath the root, and can name nothing else. */
export type LocalState = { readonly version: 1; readonly id: string }

const SANDBOX_ID = /^[a-z0-9][a-z0-9-]{0,62}\.[0-9a-f]{12}$/

export const localStateSchema: z.ZodType<LocalState> = z.strictObject({
  version: z.literal(1),
  id: z.string().regex(SANDBOX_ID, 'is no id of a local sandbox'),
})

/** Names are unique in a deployment only, and two of them may share a root. */
export function sandboxId(name: string, identity: SandboxIdentity): string {
  return `${name}.${createHash('sha256').update(identity.deployment).digest('hex').slice(0, 12)}`
}

export function isSandboxId(text: string): boolean {
  return SANDBOX_ID.test(text)
}
