import { z } from 'zod'
import type { JsonValue } from '../errors/error-details.js'
import { SandboxError } from '../errors/sandbox-error.js'
import type { SnapshotRef } from '../contracts/snapshot.js'
import { isShallow } from './json-depth.js'

/** Versions that this code can read. Older ones are migrated on reading, newer ones refused. */
export const RECORD_VERSION = 1

/**
 * What a slot knows. Written by compare-and-set: `claimed` before anything is created, `ready` when the workspace is,
 * `committed` at release. So whatever a dead process left behind, the record points to it.
 *
 * It is read as untrusted input. It says where things are, never what they may do.
 */
export interface SessionRecord {
  readonly version: typeof RECORD_VERSION
  /** The slot's key, so that a record found under another one is noticed. */
  readonly slot: string
  readonly sessionId: string
  /** Decimal; grows with every claim and never shrinks, also when the slot was deleted. */
  readonly fence: string
  readonly phase: 'claimed' | 'ready' | 'committed' | 'deleted'
  /** Who holds the slot; null when nobody does. */
  readonly owner: RecordOwner | null
  /** While held: the owner's next sign of life is due by then. While parked: the sandbox is kept until then. */
  readonly expiresAtMs: number | null
  readonly backend: string
  /** Deterministic name of the sandbox, known before it is made. */
  readonly sandboxName: string
  /** Nonce of this filling of the workspace; the marker in the control folder repeats it. */
  readonly incarnation: string
  /** True once a workspace of this incarnation was ready. */
  readonly workspaceReady: boolean
  readonly sandboxState: JsonValue | null
  readonly compute: 'none' | 'live' | 'parked' | 'stopped'
  readonly snapshot: SnapshotRef | null
  /** The sandbox holds work that no snapshot holds. */
  readonly unsaved: boolean
  /** How the workspace is saved by whoever finds it: the snapshot spec, and what is never part of one. */
  readonly save: { readonly spec: JsonValue; readonly exclude: readonly string[] }
  /** For a fork: what it was forked from. */
  readonly forkOf: { readonly slot: string; readonly version: string } | null
  readonly updatedAtMs: number
}

/** A process on a machine, and the host object in it. */
export interface RecordOwner {
  readonly process: JsonValue
  readonly host: string
}

const name = z.string().min(1).max(200)
const slot = z.string().min(1).max(1024)
const count = z.number().int().nonnegative()

export const snapshotRefSchema: z.ZodType<SnapshotRef> = z.strictObject({
  id: z.string().regex(/^[A-Za-z0-9._=-]{1,200}$/),
  kind: name,
  store: name,
  createdAtMs: count,
  treeDigest: z.string().regex(/^[0-9a-f]{64}$/),
  sizeBytes: count,
  files: count,
  parent: z.string().max(200).nullable(),
})

const json = z.json() as z.ZodType<JsonValue>

const recordSchema: z.ZodType<SessionRecord> = z.strictObject({
  version: z.literal(RECORD_VERSION),
  slot,
  sessionId: z.string().regex(/^[a-z0-9-]{1,64}$/),
  fence: z.string().regex(/^(0|[1-9][0-9]{0,30})$/),
  phase: z.enum(['claimed', 'ready', 'committed', 'deleted']),
  owner: z.strictObject({ process: json, host: name }).nullable(),
  expiresAtMs: z.number().int().nullable(),
  backend: name,
  sandboxName: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/),
  incarnation: z.string().regex(/^[a-z0-9]{8,64}$/),
  workspaceReady: z.boolean(),
  sandboxState: json.nullable(),
  compute: z.enum(['none', 'live', 'parked', 'stopped']),
  snapshot: snapshotRefSchema.nullable(),
  unsaved: z.boolean(),
  save: z.strictObject({ spec: json, exclude: z.array(z.string().min(1).max(4096)).max(100_000) }),
  forkOf: z.strictObject({ slot, version: z.string().max(200) }).nullable(),
  updatedAtMs: z.number().int(),
})

/** Throws `state_version_unsupported` or `state_corrupt`; the stored value stays as it is. */
export function parseRecord(key: string, value: JsonValue): SessionRecord {
  if (!isShallow(value)) throw corrupt(key, 'it is nested too deeply')
  const version = z.object({ version: z.number().int() }).safeParse(value)
  if (version.success && version.data.version !== RECORD_VERSION) {
    throw new SandboxError(
      'state_version_unsupported',
      `the record of ${key} has version ${version.data.version}; this release reads version ${RECORD_VERSION}. ` +
        `Use a release that knows it; the record was left as it is.`,
      { key, version: version.data.version, supported: [RECORD_VERSION] },
    )
  }
  const parsed = recordSchema.safeParse(value)
  if (!parsed.success) throw corrupt(key, describeIssue(parsed.error.issues[0]))
  if (parsed.data.slot === key) return parsed.data
  // Made by a rescue that knew only the hash; it was found by it, so it is this slot's.
  if (parsed.data.slot.startsWith('records/')) return { ...parsed.data, slot: key }
  throw corrupt(key, 'it is the record of another slot')
}

/** JSON to store. */
export function recordToJson(record: SessionRecord): JsonValue {
  return record as unknown as JsonValue
}

function corrupt(key: string, reason: string): SandboxError<'state_corrupt'> {
  return new SandboxError(
    'state_corrupt',
    `the record of ${key} cannot be used: ${reason}. It was left as it is: repair or delete it.`,
    { key, reason },
  )
}

function describeIssue(issue: z.core.$ZodIssue | undefined): string {
  if (issue === undefined) return 'it does not follow its schema'
  return `${issue.path.length === 0 ? 'the whole' : issue.path.map(String).join('.')}: ${issue.message}`
}
