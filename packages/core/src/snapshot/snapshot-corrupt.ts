import { SandboxError } from '../errors/sandbox-error.js'

/** `object` is the blob or file in which it was seen. */
export function snapshotCorrupt(
  snapshot: string,
  object: string,
  reason: string,
  cause?: unknown,
): SandboxError<'snapshot_corrupt'> {
  const options = cause === undefined ? {} : { cause }
  const message = `Snapshot ${snapshot} cannot be used, ${object} is damaged: ${reason}. Choose an earlier snapshot.`
  return new SandboxError('snapshot_corrupt', message, { snapshot, object, reason }, options)
}
