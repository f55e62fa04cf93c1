import { parseAccounts } from './accounts.js'
import { parseEnvironment } from './environment.js'
import { DEFAULT_ROOT } from './manifest.js'
import type { Manifest, ManifestInput } from './manifest.js'
import { isRecord, placeEntries, withoutUndefined } from './place-entries.js'
import { describeUnknown, Problems } from './problems.js'

const MEMBERS: readonly string[] = ['version', 'root', 'entries', 'environment', 'users', 'groups']
/** What a manifest may not say, and where it is said. */
const GRANTS: readonly string[] = [
  'grants',
  'hostAccess',
  'pathGrants',
  'extraPathGrants',
  'extra_path_grants',
  'baseDir',
]

const parsed: WeakSet<object> = new WeakSet()

/**
 * Reads what a user wrote. What is returned is complete, frozen and shares nothing with the input. A manifest that was
 * parsed already is returned as it is.
 *
 * The type is for those who write manifests in TypeScript; anything may be given, e.g. what `JSON.parse` returns.
 *
 * @throws `invalid_manifest` with one line per problem in `details.problems`, each beginning with the place, such as
 * `entries.src/app.ts.mode: must be permission bits …`. Values are never repeated in it.
 */
export function parseManifest(input: ManifestInput): Manifest {
  if (parsed.has(input)) return input as Manifest
  const problems = new Problems()
  const manifest = read(input, problems)
  problems.throwIfAny()
  parsed.add(deepFreeze(manifest))
  return manifest
}

/** An empty workspace at the default root, with no environment of its own. */
export const emptyManifest: Manifest = parseManifest({})

function read(input: unknown, problems: Problems): Manifest {
  if (!isRecord(input)) problems.add('manifest', 'must be an object')
  const members = isRecord(input) ? withoutUndefined(input) : {}
  for (const key of Object.keys(members)) {
    if (MEMBERS.includes(key)) continue
    if (GRANTS.includes(key)) problems.add(key, GRANTS_BELONG)
    else problems.add(key, describeUnknown(key, MEMBERS))
  }
  if ('version' in members && members.version !== 1) problems.add('version', 'must be 1')
  const root = parseRoot(members.root ?? DEFAULT_ROOT, problems)
  return {
    version: 1,
    root,
    entries: Object.fromEntries(placeEntries(members.entries ?? {}, root, problems)),
    environment: Object.fromEntries(parseEnvironment(members.environment ?? {}, problems)),
    ...parseAccounts(members.users ?? [], members.groups ?? [], problems),
  }
}

const GRANTS_BELONG =
  'is not for a manifest: which places of the host may be read or mounted is said by the application, to createHost'

function parseRoot(root: unknown, problems: Problems): string {
  if (typeof root !== 'string' || !/^\/[A-Za-z0-9/._@+-]+$/.test(root) || root.length > 1024) {
    problems.add('root', 'must be an absolute path of letters, digits and /._@+-')
    return DEFAULT_ROOT
  }
  const parts = root.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..') || parts.length === 0) problems.add('root', "must not be '/' and must have no '..'")
  return `/${parts.join('/')}`
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const member of Object.values(value)) deepFreeze(member)
  }
  return value
}
