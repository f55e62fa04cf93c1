import type { JsonValue } from '../errors/error-details.js'

type JsonObject = { readonly [key: string]: JsonValue }

/** `over` wins; objects are merged member by member, everything else is replaced. Neither input is changed. */
export function mergeSampling(base: JsonObject, over: JsonObject): JsonObject {
  const members = new Map(Object.entries(base))
  for (const [key, value] of Object.entries(over)) {
    const below = members.get(key)
    members.set(key, isObject(below) && isObject(value) ? mergeSampling(below, value) : value)
  }
  // Not by assignment: a key `__proto__` stays a key.
  return Object.fromEntries(members)
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
