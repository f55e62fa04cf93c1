/** The `SandboxFiles` contract over directories of this host: for backends that run here, and for reading host sources. */
export { createHostFiles } from './host-files/host-files.js'
export type { HostFilesOptions } from './host-files/host-files.js'
export { createDirectoryOpener, removeHostTree } from './host-files/host-directory.js'
export type { HostDirectory } from './host-files/host-directory.js'
export type { HostRoot } from './host-files/roots.js'
