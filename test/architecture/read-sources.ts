import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

/** One source file and what it imports, types included. */
export interface SourceFile {
  /** From the root of the repository, with forward slashes. */
  readonly path: string
  readonly imports: readonly string[]
}

/** What a package.json says that matters for imports. */
export interface PackageManifest {
  readonly name: string
  /** Folder from the root of the repository; '' is the root itself. */
  readonly folder: string
  /** Entry (`.`, `./plugin`) → source file from the root of the repository. */
  readonly entries: ReadonlyMap<string, string>
  readonly dependencies: ReadonlySet<string>
  readonly devDependencies: ReadonlySet<string>
}

interface PackageJson {
  readonly name: string
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

const skippedFolders = new Set(['node_modules', 'dist', '.cofferdam'])

/** Every TypeScript file beneath `folder`, sorted by path. */
export function readSources(root: string, folder: string): SourceFile[] {
  const found: SourceFile[] = []
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    if (entry.isDirectory() && !skippedFolders.has(entry.name)) found.push(...readSources(root, path))
    else if (entry.isFile() && entry.name.endsWith('.ts')) {
      found.push({ path, imports: findImports(path, readFileSync(join(root, path), 'utf8')) })
    }
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** The specifiers of `import`, `export … from`, `import()` and `import('…').Type`. */
export function findImports(path: string, text: string): string[] {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    const specifier = specifierOf(node)
    if (specifier !== undefined && ts.isStringLiteralLike(specifier)) found.push(specifier.text)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true))
  return found
}

function specifierOf(node: ts.Node): ts.Node | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) return node.arguments[0]
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) return node.argument.literal
  return undefined
}

/** The package.json in `folder`, as the rules need it. */
export function readManifest(root: string, folder: string): PackageManifest {
  const json = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as PackageJson
  const entries = new Map<string, string>()
  for (const [entry, target] of Object.entries(json.exports ?? {})) {
    const source = typeof target === 'string' ? target : target['@cofferdam/source']
    if (source?.endsWith('.ts')) entries.set(entry, `${folder}/${source.slice(2)}`)
  }
  const names = (...groups: Array<Readonly<Record<string, string>> | undefined>): Set<string> =>
    new Set(groups.flatMap((group) => Object.keys(group ?? {})))
  return {
    name: json.name,
    folder,
    entries,
    dependencies: names(json.dependencies, json.optionalDependencies, json.peerDependencies),
    devDependencies: names(json.devDependencies),
  }
}
