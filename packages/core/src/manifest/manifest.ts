import type { Entry, EntryInput, EntryPath } from './entry.js'

/**
 * # The manifest: what a workspace holds when it is fresh
 *
 * Users write a {@link ManifestInput}; `parseManifest` makes a {@link Manifest} of it: strict, complete, frozen. Unknown
 * members, paths that lead out and entries that contradict each other are `invalid_manifest`, with one line per problem.
 *
 * Entries lie at paths relative to the workspace's root. `dir` entries may hold `children`; a parsed manifest is flat.
 * `file`, `dir`, `local_file`, `local_dir`, `git_repo` and `symlink` fill a fresh workspace. `projection` is brought up to
 * date at every start. `bind_mount` is part of what the sandbox is made from.
 *
 * A manifest grants nothing: which places of the host it may read or mount is said by the application, to `createHost`.
 *
 * ```ts
 * const manifest: ManifestInput = {
 *   entries: {
 *     'README.md': { kind: 'file', text: '# Task\n' },
 *     src: { kind: 'local_dir', source: './project/src', exclude: ['node_modules'] },
 *     'vendor/lib': { kind: 'git_repo', url: 'https://example.org/lib.git', ref: 'v2' },
 *   },
 *   environment: { CI: 'true', API_TOKEN: { secret: 'ci/api-token' } },
 * }
 * ```
 */
export interface ManifestInput {
  /** Default 1, the only one there is. */
  readonly version?: 1
  /** Absolute sandbox path of the workspace. A backend that cannot choose has its own. Default {@link DEFAULT_ROOT}. */
  readonly root?: string
  readonly entries?: { readonly [path: string]: EntryInput }
  /** The environment of every command. A string is short for `{ value }`. */
  readonly environment?: { readonly [name: string]: EnvironmentInput }
  /** Users to make in the sandbox. Needs a backend with `features.users`. A string is short for `{ name }`. */
  readonly users?: readonly (string | UserInput)[]
  /** Groups to make in the sandbox, with their members. */
  readonly groups?: readonly (string | GroupInput)[]
}

/** A value as it is, or the name of a secret that the application resolves when the sandbox is made. */
export type EnvironmentInput = string | PlainVariable | SecretVariable

export interface PlainVariable {
  readonly value: string
  readonly description?: string
}

export interface SecretVariable {
  /** Name of the secret, given to `createHost({ secrets })`. Never the secret itself. */
  readonly secret: string
  readonly description?: string
}

export interface UserInput {
  readonly name: string
  readonly ifUnsupported?: 'error' | 'skip'
}

export interface GroupInput {
  readonly name: string
  /** Members: names of `users`. Default: none. */
  readonly users?: readonly string[]
  readonly ifUnsupported?: 'error' | 'skip'
}

/** A parsed manifest. Frozen through and through; every default filled in; may be given to `parseManifest` again. */
export interface Manifest {
  readonly version: 1
  readonly root: string
  /**
   * Flat, by path. The order of an object's keys is not to be relied on (JavaScript puts `"7"` before `"a"`): use
   * `listEntries`, and look a path up with `findEntry`, which does not find `constructor`.
   */
  readonly entries: { readonly [path: string]: Entry }
  readonly environment: { readonly [name: string]: EnvironmentVariable }
  readonly users: readonly ManifestUser[]
  readonly groups: readonly ManifestGroup[]
}

export type EnvironmentVariable = PlainVariable | SecretVariable

export interface ManifestUser {
  readonly name: string
  readonly ifUnsupported: 'error' | 'skip'
}

export interface ManifestGroup {
  readonly name: string
  readonly users: readonly string[]
  readonly ifUnsupported: 'error' | 'skip'
}

/** Where the workspace lies unless the manifest says otherwise. */
export const DEFAULT_ROOT: string = '/workspace'

/** An entry with the path it lies at. */
export interface PlacedEntry {
  readonly path: EntryPath
  readonly entry: Entry
}
