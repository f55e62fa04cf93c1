import { parseOptions } from '@cofferdam/core/plugin'
import { z } from 'zod'

/** What the application says about sandboxes on this machine. */
export interface LocalBackendOptions {
  /** Folder that holds them, on a file system with links and permissions. Relative to the base directory of the host. Default `local` in the host's data folder. */
  readonly root?: string
  /** `PATH` of every command that brings none of its own. Default: the directories of the system, never that of this process. */
  readonly path?: string
  /** Ended processes whose exit and output are remembered, for each sandbox. Default 256. */
  readonly keepEnded?: number
}

export type CheckedOptions = Required<LocalBackendOptions>

const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

const optionsSchema = z.strictObject({
  root: z.string().min(1, 'give the path of a folder').default('.cofferdam/local'),
  path: z.string().min(1, 'give a list of folders, divided by colons').default(SYSTEM_PATH),
  keepEnded: z.int('give a whole number').min(0, 'give 0 or more').max(100_000, 'give at most 100000').default(256),
})

/** Throws `invalid_config`, with a line for each problem. */
export function checkOptions(options: LocalBackendOptions): CheckedOptions {
  return parseOptions(optionsSchema, options, { plugin: '@cofferdam/backend-local' })
}
