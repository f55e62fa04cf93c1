/** For those who compose with their own tsyringe container: the tokens under which this package looks and provides. */
export {
  BASE_DIR,
  BLOB_STORE,
  BLOB_STORE_NAME,
  CAPABILITY,
  CLOCK,
  DATA_DIR,
  DEPLOYMENT,
  EMIT,
  EVENT_SINK,
  EXECUTION_GUARD,
  LOGGER,
  SANDBOX_CLIENT,
  SNAPSHOT_ENGINE,
  STATE_STORE,
} from './di/tokens.js'
export type { Token } from './di/tokens.js'
export type { DependencyContainer, Services } from './di/scope.js'
