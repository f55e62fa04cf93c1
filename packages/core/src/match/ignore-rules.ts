import ignore from 'ignore'
import { SandboxError } from '../errors/sandbox-error.js'
import { compileLinearIgnoreRules } from './linear-ignore-rules.js'

/**
 * Compiles patterns in gitignore syntax, one per item; later ones win, `!` takes back, blank lines and `#` comments say
 * nothing. The function takes a path relative to where the rules lie, without a slash at either end, and tells whether the
 * path or a directory above it is ignored. Letter case matters.
 *
 * @throws `invalid_argument` for a pattern with a line break or NUL byte, and for far too many of them
 */
export function compileIgnoreRules(patterns: readonly string[]): (path: string, isDirectory: boolean) => boolean {
  const rules = patterns.map(checkedPattern)
  if (rules.length > MAX_PATTERNS) throw unusablePattern('patterns', `there are more than ${MAX_PATTERNS} of them`)
  const create = (): ReturnType<typeof ignore> =>
    ignore({ ignorecase: false, allowRelativePaths: true }).add(rules.map((pattern) => ({ pattern })))
  // A lone `#` or blank line leaves no rule; asking the library about each path would cost for nothing.
  if (rules.every((pattern) => pattern.trim() === '' || pattern.startsWith('#'))) return () => false
  const costly = rules.some((pattern) => (pattern.match(/\*+/g) ?? []).length > MAX_STARS)
  let linear: ReturnType<typeof compileLinearIgnoreRules> | undefined
  let matcher = create()
  let remembered = 0
  return (path, isDirectory) => {
    // The library makes regular expressions of patterns, which take for ever where many stars meet a long path.
    if (costly || path.length > MAX_EXPRESSION_PATH)
      return (linear ??= compileLinearIgnoreRules(rules))(path, isDirectory)
    // The library remembers every path it was ever asked about.
    if (++remembered > MAX_REMEMBERED) {
      matcher = create()
      remembered = 1
    }
    return matcher.ignores(isDirectory ? `${path}/` : path)
  }
}

const MAX_PATTERNS = 10_000
const MAX_PATTERN_LENGTH = 4096
/** With no more than so many stars, and paths no longer than that, regular expressions take no time to speak of. */
const MAX_STARS = 2
const MAX_EXPRESSION_PATH = 512
const MAX_REMEMBERED = 20_000

function checkedPattern(pattern: string): string {
  if (typeof pattern !== 'string') throw unusablePattern(String(pattern), 'it is not a string')
  if (pattern.length > MAX_PATTERN_LENGTH) throw unusablePattern(pattern, `it is longer than ${MAX_PATTERN_LENGTH}`)
  if (/[\n\0]/.test(pattern))
    throw unusablePattern(pattern, 'it holds a line break or NUL byte; give one pattern per item')
  return pattern
}

function unusablePattern(pattern: string, reason: string): SandboxError {
  const shown = JSON.stringify(pattern.slice(0, 120))
  return new SandboxError('invalid_argument', `The ignore pattern ${shown} cannot be used: ${reason}.`, {
    argument: 'patterns',
    reason,
  })
}
