/** For authors of backends, stores, engines, guards and capabilities: the contracts, and the pieces to build on. */
export { SandboxError, isSandboxError } from './errors/sandbox-error.js'
export type { SandboxErrorJson, SandboxErrorOptions } from './errors/sandbox-error.js'
export type { JsonValue, SandboxErrorCode, SandboxErrorDetails } from './errors/error-details.js'
export { SANDBOX_ERROR_CODES } from './errors/error-details.js'
export { assertRequirements, unmetRequirements } from './acquire/check-requirements.js'
export { assertNotAborted } from './errors/assert-not-aborted.js'
export { failpoint } from './failpoint.js'

export { CONTRACT_MAJOR, definePlugin } from './plugin/define-plugin.js'
export type { CofferdamPlugin, PluginDefinition, PluginRegistry, ServiceFactory } from './plugin/define-plugin.js'
export { defineCapability } from './capability/define-capability.js'
export type { CapabilityBinding, CapabilityDefinition } from './capability/define-capability.js'
export { defineTool } from './capability/define-tool.js'
export type { ApprovalRule, ToolDefinition } from './capability/define-tool.js'
export { parseOptions } from './plugin/parse-options.js'
export type { ProvideOptions, Scope as ServiceScope, Services } from './di/scope.js'
export type { Token } from './di/tokens.js'
export {
  BASE_DIR,
  BLOB_STORE,
  BLOB_STORE_NAME,
  CLOCK,
  DATA_DIR,
  DEPLOYMENT,
  EMIT,
  EXECUTION_GUARD,
  LOGGER,
  STATE_STORE,
} from './di/tokens.js'

export type {
  BlobStat,
  BlobStore,
  BlobStoreFeatures,
  BlobSummary,
  GetBlobOptions,
  PutBlobOptions,
} from './contracts/blob-store.js'
export type { BoundCapability, Capability, CapabilityContext } from './contracts/capability.js'
export type {
  ClientCallOptions,
  CreateSandbox,
  IdentityFilter,
  Limits,
  MountPlan,
  NetworkPlan,
  NetworkRule,
  ResumeOptions,
  SandboxClient,
  SandboxIdentity,
  SandboxPresence,
  SandboxSummary,
} from './contracts/client.js'
export type { Clock } from './contracts/clock.js'
export type {
  BackendFeatures,
  FeatureRequirements,
  Isolation,
  LimitFeatures,
  NetworkKind,
} from './contracts/features.js'
export type {
  ByteSource,
  DirEntry,
  FileRead,
  FileStat,
  FileToWrite,
  FileType,
  ReadRange,
  SandboxFiles,
  TreeEntry,
  TreeOptions,
  WriteOptions,
} from './contracts/files.js'
export type { EnterOptions, ExecutionGuard, Lease } from './contracts/guard.js'
export type { LogFields, Logger } from './contracts/logger.js'
export type { EventSink, SandboxEvent, SandboxEventBody } from './contracts/observer.js'
export type {
  AttachedProcess,
  ProcessExit,
  ProcessInfo,
  ProcessLimits,
  ProcessUsage,
  SandboxProcess,
  Signal,
  SpawnRequest,
  TerminalSize,
} from './contracts/process.js'
export type {
  NativeSnapshotRef,
  PortEndpoint,
  ResourceUsage,
  Sandbox,
  SandboxPaths,
  SandboxState,
  StartOptions,
} from './contracts/sandbox.js'
export type {
  RestoreSnapshotRequest,
  SnapshotCallOptions,
  SnapshotEngine,
  SnapshotFeatures,
  SnapshotProgress,
  SnapshotRef,
  SnapshotSpec,
  TakeSnapshotRequest,
} from './contracts/snapshot.js'
export type {
  ListStateOptions,
  PutStateOptions,
  StateEntry,
  StatePage,
  StateStore,
  StoreCallOptions,
} from './contracts/state-store.js'
export type { Tool, ToolApproval, ToolContent, ToolContext, ToolEffects, ToolResult } from './contracts/tool.js'
