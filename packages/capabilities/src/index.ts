/** What an agent can do inside a sandbox, as tools for a model. */
export { filesystem } from './filesystem/filesystem-capability.js'
export type { FilesystemOptions } from './filesystem/filesystem-capability.js'
export type { FileAccess, FileApproval } from './filesystem/file-tools.js'
export { shell } from './shell/shell-capability.js'
export type { ShellOptions } from './shell/shell-capability.js'
export type { ShellApproval, ShellCall } from './shell/shell-tools.js'
