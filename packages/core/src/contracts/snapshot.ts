import type { ZodType } from 'zod'
import type { Sandbox } from './sandbox.js'

/** Which engine saves the workspace, and how. `kind` picks the engine; the rest is the engine's own. */
export interface SnapshotSpec {
  readonly kind: string
  readonly [option: string]: unknown
}

/** Points to one snapshot. Plain JSON, kept in records. */
export interface SnapshotRef {
  readonly id: string
  /** The engine that made it. */
  readonly kind: string
  /** Name of the blob store it lies in. */
  readonly store: string
  /** Milliseconds since the epoch. */
  readonly createdAtMs: number
  /** Hash of names, metadata and contents: equal workspaces have equal digests. Lower-case hex sha256. */
  readonly treeDigest: string
  readonly sizeBytes: number
  readonly files: number
  /** The snapshot that the workspace was seeded from, or null. */
  readonly parent: string | null
}

/** Progress of a snapshot operation, so far. */
export interface SnapshotProgress {
  readonly operation: 'take' | 'restore' | 'verify'
  readonly files: number
  readonly bytes: number
}

export interface SnapshotCallOptions {
  readonly onProgress?: (progress: SnapshotProgress) => void
  /** A path that a snapshot cannot hold (socket, FIFO, device) and that was left out. */
  readonly onSkipped?: (path: string, reason: string) => void
  readonly signal?: AbortSignal
}

export interface TakeSnapshotRequest extends SnapshotCallOptions {
  /** Hash of the slot key: snapshots of one slot are listed by it. */
  readonly slotHash: string
  readonly parent: SnapshotRef | null
  /** Workspace-relative paths that never belong in a snapshot: mounts, ephemeral entries, projections. Exact, with all beneath. */
  readonly exclude: readonly string[]
  readonly spec: SnapshotSpec
}

export interface RestoreSnapshotRequest extends SnapshotCallOptions {
  /** Workspace-relative paths that are neither removed nor replaced: mounts. */
  readonly keep: readonly string[]
}

/**
 * Saves workspaces and brings them back.
 *
 * A snapshot is immutable and complete: `take` returns only after every byte is stored durably and can be read. A take
 * that failed, was aborted or died leaves nothing that `list` shows and the workspace as it is.
 *
 * `restore` makes the workspace exactly the snapshot (but for `keep`): it fetches and verifies everything into the
 * sandbox's control folder first, then applies it by a journal. Bad bytes are `snapshot_corrupt`, and the workspace is
 * as it was. When the process dies while applying, `recover` finds the journal and finishes; there is never a mixture
 * that anybody can see as ready. The workspace root itself is never renamed, and no mount beneath it is entered.
 */
export interface SnapshotEngine extends AsyncDisposable {
  readonly kind: string
  readonly specSchema: ZodType<SnapshotSpec>
  readonly features: SnapshotFeatures
  /** Returns null when the engine keeps nothing (`none`). Throws `snapshot_failed`, `no_space`, `store_unavailable`, `aborted`. */
  take(sandbox: Sandbox, request: TakeSnapshotRequest): Promise<SnapshotRef | null>
  /** Throws `snapshot_not_found`, `snapshot_corrupt`, `no_space`, `store_unavailable`, `aborted`. */
  restore(sandbox: Sandbox, ref: SnapshotRef, request: RestoreSnapshotRequest): Promise<void>
  /** Finishes or undoes a restore that a dead process left. Called at every start, before anything else looks at the workspace. */
  recover(sandbox: Sandbox): Promise<'nothing' | 'finished' | 'undone'>
  /** Throws when it cannot tell. */
  probe(ref: SnapshotRef): Promise<'present' | 'absent'>
  /** Oldest first. */
  list(slotHash: string): AsyncIterable<SnapshotRef>
  /** Reads everything and compares. Throws `snapshot_corrupt`, `snapshot_not_found`. */
  verify(ref: SnapshotRef, options?: SnapshotCallOptions): Promise<void>
  /** Idempotent. */
  delete(ref: SnapshotRef): Promise<void>
}

export interface SnapshotFeatures {
  /** False for `none`: take returns null and nothing can be restored. */
  readonly persistent: boolean
  /** A take costs what changed, not what is there. */
  readonly incremental: boolean
}
