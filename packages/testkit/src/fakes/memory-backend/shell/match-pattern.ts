/** One character of a pattern: quoted ones stand for themselves. */
export interface PatternCharacter {
  readonly character: string
  readonly quoted: boolean
}

const SPECIAL = /[\\^$.*+?()[\]{}|/-]/g

/** A shell pattern as a regular expression: `*`, `?`, `[…]`. */
export function patternToRegExp(pattern: readonly PatternCharacter[]): RegExp {
  let source = ''
  for (let i = 0; i < pattern.length; i++) {
    const { character, quoted } = pattern[i]!
    if (quoted) source += escape(character)
    else if (character === '*') source += '[^]*'
    else if (character === '?') source += '[^]'
    else if (character === '[') {
      const end = pattern.findIndex((next, at) => at > i + 1 && next.character === ']' && !next.quoted)
      if (end < 0) source += '\\['
      else {
        source += bracket(pattern.slice(i + 1, end))
        i = end
      }
    } else source += escape(character)
  }
  return new RegExp(`^${source}$`)
}

export function hasPattern(pattern: readonly PatternCharacter[]): boolean {
  return pattern.some(({ character, quoted }) => !quoted && '*?['.includes(character))
}

function bracket(inside: readonly PatternCharacter[]): string {
  const negated = inside[0]?.character === '!' && !inside[0].quoted
  const characters = (negated ? inside.slice(1) : inside)
    .map(({ character, quoted }) => (character === '-' && !quoted ? '-' : escape(character)))
    .join('')
  return `[${negated ? '^' : ''}${characters}]`
}

function escape(character: string): string {
  return character.replace(SPECIAL, '\\$&')
}
