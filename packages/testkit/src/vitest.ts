/** The suite as tests of vitest. */
import { randomBytes } from 'node:crypto'
import { afterAll, describe, it } from 'vitest'
import { BACKEND_CASES } from './suite/backend-suite.js'
import type { BackendTarget } from './suite/backend-target.js'
import { runBackendCase } from './suite/run-backend-case.js'

export interface DescribeConformanceOptions {
  /** Only cases whose id begins with one of these: `exec.`, `files.write`. Default: all. */
  readonly only?: readonly string[]
  /** Of one case. Default 120 000. */
  readonly timeoutMs?: number
}

/**
 * Examines a backend: one test for every clause of the contract.
 *
 * ```ts
 * // packages/acme/src/conformance.test.ts
 * import { defineTarget } from '@cofferdam/testkit'
 * import { describeConformance } from '@cofferdam/testkit/vitest'
 *
 * describeConformance(
 *   defineTarget({
 *     kind: 'backend',
 *     name: 'acme',
 *     create: ({ deployment }) => new AcmeClient({ deployment }),
 *     census: async ({ deployment }) => listEverythingAlive(deployment),
 *   }),
 * )
 * ```
 *
 * - Every case gets a client of its own and removes what it made; what is left over, by the census, fails it.
 * - What a case needs is read from `client.features`. A case that does not apply is skipped with the reason; for every
 *   feature that is declared false there is a case which checks that it is refused with `unsupported_feature`.
 * - A failure says the clause, what was expected and what was seen. Run it alone by its id: `vitest -t exec.kill.tree`.
 * - Failures that cannot be mended now go into `known`, with the reason; one that passes after all fails the run.
 *
 * A case that finds no program to work with in the sandbox (a server for `endpoint` is written for node, perl or python3) is
 * skipped with that reason.
 *
 * Commands of cases use a POSIX `sh` with cat, head, seq, sleep, sha256sum, stty and the like, as dash and BusyBox have them.
 */
export function describeConformance(target: BackendTarget, options: DescribeConformanceOptions = {}): void {
  const deployment = `conformance-${randomBytes(4).toString('hex')}`
  const cases = BACKEND_CASES.filter((each) => options.only?.some((prefix) => each.id.startsWith(prefix)) ?? true)
  describe(`${target.name}: backend conformance`, () => {
    afterAll(async () => {
      await target.tearDown?.()
    })
    for (const each of cases) {
      it(`${each.id}: ${each.title}`, { timeout: options.timeoutMs ?? 120_000 }, async ({ skip }) => {
        const outcome = await runBackendCase(target, each, { deployment })
        if (outcome.status === 'failed') throw outcome.error
        if (outcome.status !== 'passed') skip(`${outcome.status}: ${outcome.reason}`)
      })
    }
  })
}
