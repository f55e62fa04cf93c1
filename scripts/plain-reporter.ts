import { writeFileSync } from 'node:fs'
import type { Reporter, TestCase, TestModule, TestSuite, Vitest } from 'vitest/node'

/** How many tests ended which way; a file that does not load and an error outside any test count as failed. */
interface TestCounts {
  passed: number
  failed: number
  skipped: number
}

/**
 * Ends the run with one plain line, `N passed, N failed, N skipped`, after a list of the skipped tests and why.
 * A test says why with `context.skip('needs Linux')`.
 *
 * With `COFFERDAM_TEST_COUNTS` set to a path the counts go to that file as JSON instead, and the caller prints the line.
 */
export class PlainReporter implements Reporter {
  #byName = false

  onInit(vitest: Vitest): void {
    this.#byName = vitest.config.testNamePattern !== undefined
  }

  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandledErrors: ReadonlyArray<unknown>): void {
    const counts: TestCounts = { passed: 0, failed: unhandledErrors.length, skipped: 0 }
    const skipped: string[] = []
    for (const module of modules) {
      counts.failed += countBrokenSuites(module)
      for (const test of module.children.allTests()) countTest(test, counts, skipped)
    }
    // With -t every test of another name counts as skipped: a list of them would tell nothing.
    if (skipped.length > 0 && !this.#byName) process.stdout.write(`\nSkipped:\n${skipped.join('\n')}\n`)
    const countsFile = process.env['COFFERDAM_TEST_COUNTS']
    if (countsFile === undefined) process.stdout.write(`\n${formatCounts(counts)}\n`)
    else writeFileSync(countsFile, JSON.stringify(counts))
  }
}

function formatCounts({ passed, failed, skipped }: TestCounts): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`
}

function countTest(test: TestCase, counts: TestCounts, skipped: string[]): void {
  const result = test.result()
  if (result.state === 'passed') counts.passed += 1
  else if (result.state === 'skipped') {
    counts.skipped += 1
    const reason = result.note ?? (test.options.mode === 'todo' ? 'not written yet' : 'no reason given')
    skipped.push(`  ${test.module.relativeModuleId} > ${test.fullName}: ${reason}`)
  } else counts.failed += 1
}

/** Suites and files which failed by themselves (did not load, a hook threw), not through one of their tests. */
function countBrokenSuites(module: TestModule): number {
  const suites: Array<TestModule | TestSuite> = [module, ...module.children.allSuites()]
  return suites.filter((suite) => suite.errors().length > 0).length
}
