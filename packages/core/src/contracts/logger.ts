import type { JsonValue } from '../errors/error-details.js'

/** Fields of a log line. Values are redacted before they get here. */
export type LogFields = Readonly<Record<string, JsonValue>>

/** Where core and plugins say what a person should know. Any logger with these four methods fits. Must not throw. */
export interface Logger {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
}
