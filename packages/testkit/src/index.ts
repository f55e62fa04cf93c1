/** The conformance kit: targets, the suite as data, and the fakes and faults that tests of hosts are built with. */
export { memoryBackend } from './fakes/memory-backend/memory-backend.js'
export { createMemoryClient } from './fakes/memory-backend/memory-client.js'
export type { MemoryState } from './fakes/memory-backend/memory-state.js'
export { createMemoryWorld } from './fakes/memory-backend/memory-world.js'
export type { MemoryWorld, MemoryWorldOptions, MemoryWorldUse } from './fakes/memory-backend/memory-world.js'
export { blobStoreCases } from './suite/cases/blob-store/blob-store-cases.js'
export { guardCases } from './suite/cases/guard/guard-cases.js'
export { stateStoreCases } from './suite/cases/state-store/state-store-cases.js'
export type { ConformanceCase } from './suite/conformance-case.js'
export type { OpenStore, StoreCase } from './suite/open-store.js'
export { defineStoreSuite, runStoreCase } from './suite/store-suite.js'
export type { StoreContracts, StoreStorage, StoreTarget, TestRunner } from './suite/store-suite.js'
export {
  assertBytes,
  assertCode,
  assertEqual,
  assertIncludes,
  assertTrue,
  ConformanceFailure,
} from './suite/assertions.js'
export { backendCases } from './suite/backend-case.js'
export type { BackendCase, BackendRow, Needs } from './suite/backend-case.js'
export type { BackendContext, RunOptions, RunResult } from './suite/backend-context.js'
export { BACKEND_CASES } from './suite/backend-suite.js'
export { defineTarget } from './suite/backend-target.js'
export type { BackendTarget, KnownFailure, TargetContext } from './suite/backend-target.js'
export { runBackendCase } from './suite/run-backend-case.js'
export { SkippedCase } from './suite/skipped-case.js'
export type { CaseOutcome, RunCaseOptions } from './suite/run-backend-case.js'
export { killAtFailpoint, runDriver, traceFailpoints } from './faults/run-driver.js'
export type { DriverEnd, RunDriverOptions } from './faults/run-driver.js'
export { virtualClock } from './faults/virtual-clock.js'
export type { VirtualClock } from './faults/virtual-clock.js'
