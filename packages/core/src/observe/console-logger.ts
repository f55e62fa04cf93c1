import type { LogFields, Logger } from '../contracts/logger.js'

/** Warnings and errors on standard error, one line each; nothing below. The default of a host. */
export function createConsoleLogger(): Logger {
  const write = (level: string, message: string, fields: LogFields | undefined): void => {
    const rest = fields === undefined ? '' : ` ${JSON.stringify(fields)}`
    process.stderr.write(`cofferdam ${level}: ${message}${rest}\n`)
  }
  return {
    debug: () => undefined,
    info: () => undefined,
    warn: (message, fields) => write('warning', message, fields),
    error: (message, fields) => write('error', message, fields),
  }
}
