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
