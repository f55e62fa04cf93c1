import type { JsonValue } from '../errors/error-details.js'
import { DEFAULT_PROJECTION_ROOTS } from './entry.js'
import type { Entry } from './entry.js'
import { listEntries } from './list-entries.js'
import { DEFAULT_ROOT } from './manifest.js'
import type { EnvironmentVariable, Manifest } from './manifest.js'

/**
 * The manifest as JSON that people can read: flat, in order, without what is a default, modes in octal. `parseManifest` of
 * it gives an equal manifest. Equal manifests give equal JSON, to the byte; so its text can be hashed.
 *
 * Secrets are in it by name only, as in the manifest itself.
 */
export function manifestToJson(manifest: Manifest): { readonly [key: string]: JsonValue } {
  const entries = listEntries(manifest).map(({ path, entry }): [string, JsonValue] => [path, entryToJson(entry)])
  const names = Object.keys(manifest.environment).sort()
  const environment = names.map((name): [string, JsonValue] => [name, variableToJson(manifest.environment[name]!)])
  return {
    version: manifest.version,
    ...(manifest.root === DEFAULT_ROOT ? {} : { root: manifest.root }),
    ...(entries.length === 0 ? {} : { entries: Object.fromEntries(entries) }),
    ...(environment.length === 0 ? {} : { environment: Object.fromEntries(environment) }),
    ...(manifest.users.length === 0 ? {} : { users: manifest.users.map(accountToJson) }),
    ...(manifest.groups.length === 0 ? {} : { groups: manifest.groups.map(accountToJson) }),
  }
}

const DEFAULT_MODES: Readonly<Record<string, number>> = { file: 0o644, dir: 0o755, git_repo: 0o755 }

/** One entry, in an order of members that does not depend on how it was written. */
export function entryToJson(entry: Entry): JsonValue {
  const members = Object.entries(entry)
    .filter(([name, value]) => value !== undefined && !isDefault(entry.kind, name, value))
    .sort(([a], [b]) => (a === 'kind' ? -1 : b === 'kind' ? 1 : a < b ? -1 : 1))
    .map(([name, value]): [string, JsonValue] => [
      name,
      name === 'mode' ? octal(value as number) : (value as JsonValue),
    ])
  return Object.fromEntries(members)
}

function isDefault(kind: string, name: string, value: unknown): boolean {
  if (name === 'ifUnsupported') return value === 'error'
  if (name === 'onRestore') return value === 'keep'
  if (name === 'ephemeral') return value === false
  if (name === 'readOnly') return value === true
  if (name === 'depth') return value === 1
  if (name === 'mode') return value === DEFAULT_MODES[kind]
  if (name === 'exclude') return (value as readonly string[]).length === 0
  if (name === 'source') return kind === 'projection' && value === '.'
  if (name === 'roots') return JSON.stringify(value) === JSON.stringify(DEFAULT_PROJECTION_ROOTS)
  return false
}

function octal(mode: number): string {
  return `0${mode.toString(8).padStart(3, '0')}`
}

function variableToJson(variable: EnvironmentVariable): JsonValue {
  if ('value' in variable && variable.description === undefined) return variable.value
  const { description } = variable
  const said = description === undefined ? {} : { description }
  return 'value' in variable ? { value: variable.value, ...said } : { secret: variable.secret, ...said }
}

function accountToJson(account: Manifest['users'][number] | Manifest['groups'][number]): JsonValue {
  const members = 'users' in account ? account.users : []
  if (account.ifUnsupported === 'error' && members.length === 0) return account.name
  return {
    name: account.name,
    ...(members.length === 0 ? {} : { users: members }),
    ...(account.ifUnsupported === 'error' ? {} : { ifUnsupported: account.ifUnsupported }),
  }
}
