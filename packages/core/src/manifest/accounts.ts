import { z } from 'zod'
import type { ManifestGroup, ManifestUser } from './manifest.js'
import { accountName } from './member-schemas.js'
import { isRecord, withoutUndefined } from './place-entries.js'
import type { Problems } from './problems.js'

const ifUnsupported = z.enum(['error', 'skip']).default('error')
const userSchema: z.ZodType<ManifestUser> = z.strictObject({ name: accountName, ifUnsupported })
const groupSchema: z.ZodType<ManifestGroup> = z.strictObject({
  name: accountName,
  users: z.array(accountName).default([]),
  ifUnsupported,
})
const MAX_ACCOUNTS = 1000

export interface Accounts {
  readonly users: readonly ManifestUser[]
  readonly groups: readonly ManifestGroup[]
}

/** Reads users and groups. Each name once; members of groups are among the users. */
export function parseAccounts(users: unknown, groups: unknown, problems: Problems): Accounts {
  const accounts = {
    users: parseList(users, { schema: userSchema, place: 'users', members: ['name', 'ifUnsupported'], problems }),
    groups: parseList(groups, {
      schema: groupSchema,
      place: 'groups',
      members: ['name', 'users', 'ifUnsupported'],
      problems,
    }),
  }
  const known = new Set(accounts.users.map(({ name }) => name))
  for (const group of accounts.groups) {
    const stranger = group.users.find((name) => !known.has(name))
    if (stranger !== undefined) problems.add(`groups.${group.name}.users`, `'${stranger}' is not among the users`)
  }
  return accounts
}

interface ListReading<T> {
  readonly schema: z.ZodType<T>
  readonly place: string
  readonly members: readonly string[]
  readonly problems: Problems
}

function parseList<T extends { readonly name: string }>(input: unknown, reading: ListReading<T>): readonly T[] {
  const { schema, place, members, problems } = reading
  if (!Array.isArray(input) || input.length > MAX_ACCOUNTS) {
    problems.add(place, `must be a list of at most ${MAX_ACCOUNTS}`)
    return []
  }
  const found = new Map<string, T>()
  for (const [index, raw] of input.entries()) {
    const value: unknown = typeof raw === 'string' ? { name: raw } : isRecord(raw) ? withoutUndefined(raw) : raw
    const account = problems.check(schema, value, { place: `${place}.${index}`, members })
    if (account === undefined) continue
    if (found.has(account.name)) problems.add(`${place}.${index}`, `'${account.name}' is there twice`)
    found.set(account.name, account)
  }
  return [...found.values()]
}
