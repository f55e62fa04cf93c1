import { RETRYABLE_BY_DEFAULT } from './error-details.js'
import type { JsonValue, SandboxErrorCode, SandboxErrorDetails } from './error-details.js'

/** Marks our errors across duplicate copies of this package, where `instanceof` fails. */
const BRAND: unique symbol = Symbol.for('@cofferdam/core/SandboxError')

export interface SandboxErrorOptions {
  /** Default: what the table says of the code. Set it where the provider said otherwise. */
  retryable?: boolean
  /** The backend in which it was seen, e.g. `docker`. */
  backend?: string
  /** The operation that failed, e.g. `files.write`. */
  operation?: string
  cause?: unknown
}

/** What `toJSON` gives: everything but the cause and the stack, which may name things that are not ours to tell. */
export interface SandboxErrorJson {
  name: 'SandboxError'
  code: SandboxErrorCode
  message: string
  details: JsonValue
  retryable: boolean
  backend?: string
  operation?: string
}

/**
 * The one error class of Cofferdam. `code` says what happened and never changes within a major version; `details` is
 * typed by the code; `message` is for people and says what to do. Misuse by the programmer (a wrong type, a method called
 * on nothing) is a plain `TypeError` instead.
 */
export class SandboxError<C extends SandboxErrorCode = SandboxErrorCode> extends Error {
  override readonly name = 'SandboxError'
  readonly code: C
  readonly details: SandboxErrorDetails[C]
  readonly retryable: boolean
  readonly backend: string | undefined
  readonly operation: string | undefined

  constructor(code: C, message: string, details: SandboxErrorDetails[C], options: SandboxErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.details = details
    this.retryable = options.retryable ?? RETRYABLE_BY_DEFAULT[code]
    this.backend = options.backend
    this.operation = options.operation
    Object.defineProperty(this, BRAND, { value: true })
  }

  toJSON(): SandboxErrorJson {
    return {
      name: this.name,
      code: this.code,
      message: this.message,
      details: this.details as JsonValue,
      retryable: this.retryable,
      ...(this.backend === undefined ? {} : { backend: this.backend }),
      ...(this.operation === undefined ? {} : { operation: this.operation }),
    }
  }
}

/**
 * True for a `SandboxError` of any copy of this package; with `code`, only for that code, and `details` is narrowed.
 */
export function isSandboxError<C extends SandboxErrorCode = SandboxErrorCode>(
  error: unknown,
  code?: C,
): error is SandboxError<C> {
  if (typeof error !== 'object' || error === null || !(BRAND in error)) return false
  return code === undefined || (error as unknown as SandboxError).code === code
}
