import { compileNames } from './glob-pattern.js'

interface Rule {
  readonly takesBack: boolean
  readonly directoriesOnly: boolean
  readonly matches: (path: string) => boolean
}

/**
 * Patterns in gitignore syntax, matched in time linear in pattern × path whatever the pattern: for those that would keep
 * a regular expression busy for years.
 */
export function compileLinearIgnoreRules(patterns: readonly string[]): (path: string, isDirectory: boolean) => boolean {
  const rules = patterns.flatMap((pattern) => compileRule(pattern) ?? [])
  const verdict = (path: string, isDirectory: boolean): boolean => {
    for (let index = rules.length - 1; index >= 0; index--) {
      const { takesBack, directoriesOnly, matches } = rules[index]!
      if ((isDirectory || !directoriesOnly) && matches(path)) return !takesBack
    }
    return false
  }
  return (path, isDirectory) => {
    // What lies in a directory that is ignored cannot be taken back.
    for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
      if (verdict(path.slice(0, at), true)) return true
    }
    return verdict(path, isDirectory)
  }
}

function compileRule(pattern: string): Rule | undefined {
  const line = withoutSpacesAtEnd(pattern.replace(/\r$/, ''))
  if (line === '' || line.startsWith('#')) return undefined
  const takesBack = line.startsWith('!')
  const body = takesBack ? line.slice(1) : line
  const directoriesOnly = body.endsWith('/')
  const names = directoriesOnly ? body.slice(0, -1) : body
  if (names === '') return undefined
  const anchored = names.includes('/')
  const matches = compileNames(names.replace(/^\//, '').split('/'))
  return {
    takesBack,
    directoriesOnly,
    matches: anchored ? matches : (path) => matches(path.slice(path.lastIndexOf('/') + 1)),
  }
}

/** A space at the end counts when a backslash stands before it. */
function withoutSpacesAtEnd(line: string): string {
  let end = line.length
  while (line[end - 1] === ' ' && line[end - 2] !== '\\') end--
  return line.slice(0, end)
}
