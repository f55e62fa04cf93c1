import type { BackendCase } from './backend-case.js'
import { BackendContext } from './backend-context.js'
import type { BackendTarget } from './backend-target.js'
import { ConformanceFailure } from './assertions.js'
import { SkippedCase } from './skipped-case.js'

export type CaseOutcome =
  | { readonly status: 'passed' }
  | { readonly status: 'skipped'; readonly reason: string }
  /** Listed as known, and it does fail. */
  | { readonly status: 'known'; readonly reason: string; readonly error: unknown }
  | { readonly status: 'failed'; readonly error: unknown }

export interface RunCaseOptions {
  readonly deployment: string
}

/** Runs one case on its own client. Never throws: what went wrong is in the outcome, with every cleanup that failed. */
export async function runBackendCase(
  target: BackendTarget,
  each: BackendCase,
  options: RunCaseOptions,
): Promise<CaseOutcome> {
  const before = await census(target, options)
  const client = await target.create(options)
  const failures: unknown[] = []
  let skipped: string | undefined
  try {
    const answer = each.needs?.(client.features) ?? true
    if (answer === true) failures.push(...(await attempt(each, new BackendContext(target, client, options.deployment))))
    else skipped = answer
  } finally {
    await client[Symbol.asyncDispose]()
  }
  const absence = failures.findIndex((failure) => failure instanceof SkippedCase)
  if (absence >= 0) skipped = (failures.splice(absence, 1)[0] as SkippedCase).message
  if (skipped !== undefined && failures.length === 0) return { status: 'skipped', reason: skipped }
  if (failures.length === 0) failures.push(...(await leftovers(target, options, before)))
  return judge(target, each, failures)
}

async function attempt(each: BackendCase, context: BackendContext): Promise<unknown[]> {
  const failures: unknown[] = []
  try {
    await each.run(context)
  } catch (error) {
    failures.push(error)
  }
  return [...failures, ...(await context.cleanUp())]
}

function judge(target: BackendTarget, each: BackendCase, failures: readonly unknown[]): CaseOutcome {
  const known = target.known?.[each.id]
  if (failures.length === 0) {
    if (known === undefined) return { status: 'passed' }
    const what = `${each.id} is listed as a known failure (${known.reason})`
    return {
      status: 'failed',
      error: describe(each, new ConformanceFailure(what, 'a failure', 'it passes: remove the entry')),
    }
  }
  const error = failures.length === 1 ? failures[0] : new AggregateError(failures, summary(failures))
  if (known !== undefined) return { status: 'known', reason: known.reason, error }
  return { status: 'failed', error: describe(each, error) }
}

/** Puts the clause in front of the message, where a reader looks first. */
function describe(each: BackendCase, error: unknown): unknown {
  if (error instanceof Error)
    error.message = `${each.level} ${each.clause} (${each.id}): ${each.title}\n${error.message}`
  return error
}

function summary(failures: readonly unknown[]): string {
  return failures.map((failure) => (failure instanceof Error ? failure.message : String(failure))).join('\nand then: ')
}

async function census(target: BackendTarget, options: RunCaseOptions): Promise<readonly string[]> {
  return target.census === undefined ? [] : [...(await target.census(options))].sort()
}

/** Something that is just ending may still be there at the first look. */
async function leftovers(
  target: BackendTarget,
  options: RunCaseOptions,
  before: readonly string[],
): Promise<unknown[]> {
  let after: readonly string[] = []
  for (let look = 0; look < 20; look++) {
    after = await census(target, options)
    if (after.join('\n') === before.join('\n')) return []
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return [new ConformanceFailure('what is alive after the case', before, after)]
}
