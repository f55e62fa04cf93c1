import type { Clock } from '../contracts/clock.js'
import type { ReleaseStep, SandboxEventBody } from '../contracts/observer.js'
import { isSandboxError, SandboxError } from '../errors/sandbox-error.js'

/** How long each step of a release may take. */
export type StepBounds = Readonly<Record<ReleaseStep, number>>

/** What holds unless the application says otherwise. A step that runs over counts as failed, and the release goes on. */
export const STEP_BOUNDS_MS: StepBounds = {
  hooks: 60_000,
  processes: 30_000,
  freeze: 15_000,
  snapshot: 1_800_000,
  thaw: 15_000,
  record: 60_000,
  compute: 120_000,
  lease: 15_000,
}

/** Runs the steps of one release: every one is attempted, timed and reported, and failures are collected. */
export class ReleaseSteps {
  readonly failures: unknown[] = []
  readonly #clock: Clock
  readonly #boundsMs: StepBounds
  readonly #emit: (event: SandboxEventBody) => void

  constructor(options: { clock: Clock; boundsMs: StepBounds; emit: (event: SandboxEventBody) => void }) {
    this.#clock = options.clock
    this.#boundsMs = options.boundsMs
    this.#emit = options.emit
  }

  /** True when the step succeeded. Work gets a signal that fires when its time is over. */
  async run(step: ReleaseStep, ...works: readonly ((signal: AbortSignal) => Promise<unknown>)[]): Promise<boolean> {
    const startedMs = this.#clock.monotonicMs()
    const failures: unknown[] = []
    // Each of several has the whole time, and the next one its turn whatever became of the one before.
    for (const work of works) {
      await bounded(step, this.#boundsMs[step], work).catch((error: unknown) => failures.push(error))
    }
    this.failures.push(...failures)
    const first = failures[0]
    const error = isSandboxError(first) ? first.toJSON() : null
    this.#emit({ type: 'release.step', step, durationMs: this.#clock.monotonicMs() - startedMs, error })
    return failures.length === 0
  }
}

async function bounded(
  step: ReleaseStep,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<unknown>,
): Promise<void> {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new SandboxError('timeout', `the ${step} step of the release took longer than ${timeoutMs} ms`, {
        timeoutMs,
      })
      controller.abort(error)
      reject(error)
    }, timeoutMs)
    timer.unref()
  })
  try {
    await Promise.race([work(controller.signal), over])
  } finally {
    clearTimeout(timer)
  }
}
