/** Names that other systems use for what we call otherwise. */
const ALIASES: Readonly<Record<string, string>> = {
  type: 'kind',
  content: 'text',
  contents: 'text',
  data: 'text',
  src: 'source',
  from: 'source',
  hostPath: 'source',
  permissions: 'mode',
  perms: 'mode',
  entries: 'children',
  env: 'environment',
  files: 'entries',
  repo: 'url',
  repository: 'url',
  branch: 'ref',
  tag: 'ref',
  commit: 'ref',
  subdir: 'subpath',
  subdirectory: 'subpath',
  auth: 'credentials',
  ignore: 'exclude',
  include: 'roots',
  user: 'owner',
  ro: 'readOnly',
  linkTarget: 'target',
  workspaceRoot: 'root',
  cwd: 'root',
  members: 'users',
}

/**
 * Which of `known` was probably meant by `unknown`: its snake_case or kebab-case spelling, another system's name for it,
 * or one that is nearly the same. `undefined` when nothing comes close.
 */
export function suggestMember(unknown: string, known: readonly string[]): string | undefined {
  const camel = unknown.replace(/[_-]+([a-zA-Z])/g, (_, letter: string) => letter.toUpperCase())
  const same = known.find((name) => name.toLowerCase() === camel.toLowerCase())
  if (same !== undefined) return same
  const alias = Object.hasOwn(ALIASES, camel) ? ALIASES[camel] : undefined
  if (alias !== undefined && known.includes(alias)) return alias
  const [nearest] = known
    .map((name) => ({ name, distance: editDistance(camel.slice(0, 64), name) }))
    .filter(({ name, distance }) => distance <= Math.max(1, Math.floor(name.length / 3)))
    .sort((a, b) => a.distance - b.distance)
  return nearest?.name
}

/** Levenshtein, with a swap of neighbours as one step. */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let steps = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + (same ? 0 : 1))
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (swapped) steps = Math.min(steps, rows[i - 2]![j - 2]! + 1)
      row.push(steps)
    }
    rows.push(row)
  }
  return rows[a.length]![b.length]!
}
