/** For users: compose a host, acquire sessions. Authors of plugins look at `@cofferdam/core/plugin`. */
export { createHost } from './host/create-host.js'
export type { HostOptions } from './host/host-options.js'
export { SandboxError, isSandboxError } from './errors/sandbox-error.js'
export type { SandboxErrorJson } from './errors/sandbox-error.js'
export { SANDBOX_ERROR_CODES } from './errors/error-details.js'
export type { JsonValue, SandboxErrorCode, SandboxErrorDetails } from './errors/error-details.js'

export type {
  AcquireRequest,
  Host,
  ReapedSandbox,
  ReapRequest,
  ReapResult,
  Scope,
  SessionHooks,
} from './contracts/host.js'
export type {
  ExecOptions,
  ExecResult,
  GlobResult,
  GrepMatch,
  GrepResult,
  ProcessOutput,
  ReleaseOptions,
  ReleaseResult,
  SandboxSession,
  SessionDescription,
  SessionFiles,
  SessionProcesses,
  SessionState,
  SessionStatus,
  SpawnOptions,
} from './contracts/session.js'
export type { BackendFeatures, FeatureRequirements } from './contracts/features.js'
export type { ReleaseStep, SandboxEvent } from './contracts/observer.js'
export type { ProcessExit, ProcessInfo, SandboxProcess } from './contracts/process.js'
export type { SnapshotRef, SnapshotSpec } from './contracts/snapshot.js'
export { bindCapabilities } from './capability/bind-capabilities.js'
export type { Capability } from './contracts/capability.js'
export type { Tool, ToolResult } from './contracts/tool.js'
export type { EntryInput } from './manifest/entry.js'
export type { Manifest, ManifestInput } from './manifest/manifest.js'
export { parseManifest } from './manifest/parse-manifest.js'
export type { PathGrant } from './path/path-grant.js'

export { createMemoryBlobStore } from './store/memory-blob-store.js'
export { createMemoryGuard } from './store/memory-guard.js'
export { createMemoryStateStore } from './store/memory-state-store.js'
export { createFolderBlobStore } from './store/folder-blob-store.js'
export { createFolderGuard } from './store/folder-guard.js'
export { createFolderStateStore } from './store/folder-state-store.js'
