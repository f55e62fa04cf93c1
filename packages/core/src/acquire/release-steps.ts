import type { Clock } from '../contracts/clock.js'
import type { ReleaseStep, SandboxEventBody } from '../contracts/observer.js'
import { isSandboxError, SandboxError } from '../errors/sandbox-error.js'

/** How long each step may take. A step that runs over counts as failed, and the release goes on. */
export const STEP_BOUNDS_MS: Readonly<Record<ReleaseStep, number>> = {
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
  readonly #emit: (event: SandboxEventBody) => void

  constructor(clock: Clock, emit: (event: SandboxEventBody) => void) {
    this.#clock = clock
    this.#emit = emit
  }

  /** True when the step succeeded. `work` gets a signal that fires when the step's time is over. */
  async run(step: ReleaseStep, work: (signal: AbortSignal) => Promise<unknown>): Promise<boolean> {
    const startedMs = this.#clock.monotonicMs()
    let failure: unknown
    try {
      await bounded(step, work)
    } catch (error) {
      failure = error
      this.failures.push(error)
    }
    const error = isSandboxError(failure) ? failure.toJSON() : null
    this.#emit({ type: 'release.step', step, durationMs: this.#clock.monotonicMs() - startedMs, error })
    return failure === undefined
  }
}

async function bounded(step: ReleaseStep, work: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
  const controller = new AbortController()
  const timeoutMs = STEP_BOUNDS_MS[step]
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
