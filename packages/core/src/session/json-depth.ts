import type { JsonValue } from '../errors/error-details.js'

const MAX_DEPTH = 64

/** Whether a value is nested so little that parsing it by recursion is safe. Walks without recursion itself. */
export function isShallow(value: JsonValue): boolean {
  let level: readonly unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return false
    level = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []))
  }
  return true
}
