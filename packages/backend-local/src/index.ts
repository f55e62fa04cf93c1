/** Sandboxes that are processes on this machine. */
export { localBackend } from './local-backend.js'
export { createLocalClient } from './local-client.js'
export type { LocalServices } from './local-client.js'
export type { LocalState } from './local-state.js'
export type { LocalBackendOptions } from './options.js'
