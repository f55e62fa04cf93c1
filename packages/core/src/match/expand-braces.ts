/**
 * What a pattern with braces stands for: `a{b,c{d,e}}` is `ab`, `acd`, `ace`. Braces without a comma, or without their
 * other half, are characters like others; a backslash and a set (`[{]`) keep what they hold. Undefined when there are more
 * than `limit`.
 */
export function expandBraces(pattern: string, limit: number): string[] | undefined {
  const group = findGroup(pattern)
  if (group === undefined) return [pattern]
  const rest = expandBraces(pattern.slice(group.end), limit)
  if (rest === undefined) return undefined
  const found = new Set<string>()
  for (const choice of group.choices) {
    const heads = expandBraces(choice, limit)
    if (heads === undefined) return undefined
    for (const head of heads) for (const tail of rest) found.add(pattern.slice(0, group.start) + head + tail)
    if (found.size > limit) return undefined
  }
  return [...found]
}

interface BraceGroup {
  readonly start: number
  readonly end: number
  readonly choices: readonly string[]
}

/** The first pair of braces that has a comma of its own. */
function findGroup(pattern: string): BraceGroup | undefined {
  const open: Array<{ at: number; commas: number[] }> = []
  const complete: BraceGroup[] = []
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at]
    if (character === '\\') at++
    else if (character === '[') at = setEnd(pattern, at)
    else if (character === '{') open.push({ at, commas: [] })
    else if (character === ',') open.at(-1)?.commas.push(at)
    else if (character === '}') {
      const group = open.pop()
      if (group !== undefined && group.commas.length > 0) complete.push(groupOf(pattern, group, at))
    }
  }
  return complete.sort((a, b) => a.start - b.start)[0]
}

function groupOf(pattern: string, { at, commas }: { at: number; commas: number[] }, end: number): BraceGroup {
  const cuts = [at, ...commas, end]
  const choices = cuts.slice(1).map((cut, index) => pattern.slice(cuts[index]! + 1, cut))
  return { start: at, end: end + 1, choices }
}

/** Index of the bracket that ends the set, or `start` when nothing does. */
function setEnd(pattern: string, start: number): number {
  let at = start + 1
  if (pattern[at] === '!' || pattern[at] === '^') at++
  for (let first = true; first || pattern[at] !== ']'; first = false) {
    if (pattern[at] === '\\') at++
    if (++at >= pattern.length) return start
  }
  return at
}
