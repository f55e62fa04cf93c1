/**
 * Masks a text that goes on from `before`, which was shown already: also a secret that began there and ends here.
 */
export function redactContinued(before: string, text: string, redact: (text: string) => string): string {
  if (before === '') return redact(text)
  const shown = redact(before)
  const whole = redact(before + text)
  if (whole.startsWith(shown)) return whole.slice(shown.length)
  let same = 0
  while (same < shown.length && shown[same] === whole[same]) same++
  return whole.slice(same)
}

/** The same for a text that also goes on with `after`, which is not shown: a secret that ends there is masked here. */
export function redactBetween(before: string, text: string, after: string, redact: (text: string) => string): string {
  const alone = redactContinued(before, text, redact)
  if (after === '') return alone
  const upToHere = redact(before + text)
  const whole = redact(before + text + after)
  if (whole.startsWith(upToHere)) return alone
  let same = 0
  while (same < upToHere.length && upToHere[same] === whole[same]) same++
  const kept = alone.slice(0, Math.max(alone.length - (upToHere.length - same), 0))
  return kept.endsWith(REDACTED) ? kept : kept + REDACTED
}

/** What the session puts in the place of a secret. */
const REDACTED = '[redacted]'
