/**
 * The error table: every code that a {@link SandboxError} can carry, with the shape of its details.
 *
 * Codes are stable: within a major version none is removed, renamed or given another meaning. Messages may change at any
 * time and are for people. `docs/errors.md` holds the same table in prose and a test keeps the two equal.
 */

/** A value that JSON can hold without loss. Details, states and records consist of nothing else. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue }

/** Details of each code. Every member is JSON-safe, and none may ever hold a secret or file contents. */
export interface SandboxErrorDetails {
  /** A caller passed a value that this operation cannot take. */
  invalid_argument: { argument: string; reason: string }
  /** Options, plugins or requirements given to `createHost` or a plugin do not fit together. */
  invalid_config: { problems: readonly string[] }
  /** A manifest does not follow its schema. One line per problem, each beginning with the place in the manifest. */
  invalid_manifest: { problems: readonly string[] }
  /** The path leads out of every allowed root, as written or through a link. */
  path_escape: { path: string }
  /** The path lies inside, but policy or the system's permissions forbid this access. */
  path_denied: { path: string; reason: string }
  /** A write to a place that is mounted or declared read-only. */
  read_only: { path: string }
  /** Nothing is there, and that is confirmed. */
  not_found: { path: string }
  /** Something is there already. */
  already_exists: { path: string }
  /** A directory was needed and something else was found. */
  not_a_directory: { path: string }
  /** A file was needed and a directory was found. */
  is_a_directory: { path: string }
  /** The disk or a quota is full. What was being written is not there in part. */
  no_space: { path: string }
  /** The command could not be started at all (no such program, directory or user). It ran not even in part. */
  exec_not_started: { reason: string }
  /** Only from `execOrThrow`: the command ran and did not exit with 0. */
  exec_failed: {
    exitCode: number | null
    signal: string | null
    timedOut: boolean
    stdoutTail: string
    stderrTail: string
  }
  /** The connection to the sandbox was lost; what the operation did is not known. */
  transport_lost: { reason: string }
  /** The caller's AbortSignal fired. */
  aborted: Record<string, never>
  /** A bound set by the caller or by configuration ran out. (A command's own timeout is a result, not an error.) */
  timeout: { timeoutMs: number }
  /** The sandbox no longer exists, and that is confirmed. */
  sandbox_gone: { sandbox: string }
  /** The living sandbox was made from another plan than today's configuration asks for. */
  plan_changed: { changed: readonly string[] }
  /** The method is not allowed in this state of the session or sandbox. */
  not_running: { status: string }
  /** Somebody else holds the slot or the sandbox. */
  busy: { slot: string; holder: string | null }
  /** The backend or store declares that it cannot do this. */
  unsupported_feature: { feature: string; reason: string }
  /** The backend's provider cannot be reached or is not usable. */
  backend_unavailable: { backend: string; reason: string }
  /** The image of a sandbox cannot be had. */
  image_unavailable: { image: string; reason: string }
  /** A provider's or our own quota is used up. */
  quota_exceeded: { quota: string; limit: number | null }
  /** A member of an archive is not acceptable. Nothing of the archive remains in the workspace. */
  archive_rejected: { member: string; reason: string }
  /** An archive went over one of its limits. Nothing of the archive remains in the workspace. */
  archive_limit: { limit: string; allowed: number }
  /** No such snapshot, and that is confirmed. */
  snapshot_not_found: { snapshot: string }
  /** The snapshot's bytes are not what was saved. The workspace is as it was before. */
  snapshot_corrupt: { snapshot: string; object: string; reason: string }
  /** The snapshot could not be taken. Nothing refers to it. */
  snapshot_failed: { reason: string; paths: readonly string[] }
  /** No such blob, and that is confirmed. */
  blob_not_found: { key: string }
  /** The record was changed by somebody else since it was read. `snapshot` is where a fork that lost has its work. */
  state_conflict: { key: string; expected: string | null; actual: string | null; snapshot?: JsonValue }
  /** The stored state cannot be parsed or fails its check. It is kept as it is. */
  state_corrupt: { key: string; reason: string }
  /** The stored state was written by a version that this one cannot read. */
  state_version_unsupported: { key: string; version: number; supported: readonly number[] }
  /** The store cannot be reached or does not answer. Says nothing about what it holds. */
  store_unavailable: { store: string; reason: string }
  /** The lease was not granted within the time the caller would wait. */
  lease_timeout: { key: string; waitMs: number }
  /** The lease is no longer ours; whatever needed it was not done. */
  lease_lost: { key: string }
  /** A capability needs another that was not given. */
  capability_missing: { capability: string; missing: readonly string[] }
  /** Two capabilities claim the same name. */
  capability_conflict: { name: string; capabilities: readonly string[] }
  /** A model called a tool with input that does not fit its parameters. */
  tool_input_invalid: { tool: string; problems: readonly string[] }
  /** The tool needs an approval that has not been given. */
  approval_required: { tool: string }
  /** The approval was refused. */
  approval_denied: { tool: string; reason: string }
  /** A defect in this library or a plugin. Please report it. */
  internal: { reason: string }
}

export type SandboxErrorCode = keyof SandboxErrorDetails

/**
 * Whether the same call may succeed later with nothing changed by the caller, for codes where that is nearly always so.
 * The place that sees the failure overrides this with what the provider said; it is never guessed from a message.
 */
export const RETRYABLE_BY_DEFAULT: Readonly<Record<SandboxErrorCode, boolean>> = {
  invalid_argument: false,
  invalid_config: false,
  invalid_manifest: false,
  path_escape: false,
  path_denied: false,
  read_only: false,
  not_found: false,
  already_exists: false,
  not_a_directory: false,
  is_a_directory: false,
  no_space: false,
  exec_not_started: false,
  exec_failed: false,
  transport_lost: true,
  aborted: false,
  timeout: true,
  sandbox_gone: false,
  plan_changed: false,
  not_running: false,
  busy: true,
  unsupported_feature: false,
  backend_unavailable: true,
  image_unavailable: false,
  quota_exceeded: false,
  archive_rejected: false,
  archive_limit: false,
  snapshot_not_found: false,
  snapshot_corrupt: false,
  snapshot_failed: true,
  blob_not_found: false,
  state_conflict: true,
  state_corrupt: false,
  state_version_unsupported: false,
  store_unavailable: true,
  lease_timeout: true,
  lease_lost: false,
  capability_missing: false,
  capability_conflict: false,
  tool_input_invalid: false,
  approval_required: false,
  approval_denied: false,
  internal: false,
}

/** Every code, in the order of the table. */
export const SANDBOX_ERROR_CODES: readonly SandboxErrorCode[] = Object.freeze(
  Object.keys(RETRYABLE_BY_DEFAULT) as SandboxErrorCode[],
)
