import { z } from 'zod'
import type { ZodType } from 'zod'
import type { SnapshotEngine, SnapshotFeatures, SnapshotRef, SnapshotSpec } from '../contracts/snapshot.js'
import { SandboxError } from '../errors/sandbox-error.js'

/** The engine of sessions that keep nothing: `take` saves nothing and returns null, and nothing can be restored. */
export function createNoneEngine(): SnapshotEngine {
  return new NoneEngine()
}

class NoneEngine implements SnapshotEngine {
  readonly kind = 'none'
  readonly specSchema: ZodType<SnapshotSpec> = z.strictObject({ kind: z.literal('none') })
  readonly features: SnapshotFeatures = Object.freeze({ persistent: false, incremental: false })

  async take(): Promise<null> {
    return null
  }

  async restore(): Promise<void> {
    throw keepsNothing('restore')
  }

  async recover(): Promise<'nothing'> {
    return 'nothing'
  }

  async probe(): Promise<'absent'> {
    return 'absent'
  }

  async *list(): AsyncGenerator<SnapshotRef, void, undefined> {}

  async verify(): Promise<void> {
    throw keepsNothing('verify')
  }

  async delete(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {}
}

function keepsNothing(operation: string): SandboxError {
  const reason = "snapshots of kind 'none' save nothing; choose another kind to keep workspaces"
  return new SandboxError('unsupported_feature', `Nothing can be done with this snapshot: ${reason}.`, {
    feature: `snapshot.${operation}`,
    reason,
  })
}
