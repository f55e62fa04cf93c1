import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** One line of the result: `value` and `baseline` in `unit`, smaller is better; good when `ratio` ≤ `target`. */
export interface Figure {
  readonly name: string
  readonly value: number
  readonly baseline: number
  readonly ratio: number
  readonly target: number
  readonly unit: string
}

/** Something to time. `before` and `after` are not timed. */
export interface Subject {
  readonly before?: () => Promise<void> | void
  readonly run: () => Promise<unknown>
  readonly after?: () => Promise<void> | void
}

export interface CompareOptions {
  readonly name: string
  readonly ours: Subject
  readonly baseline: Subject
  /** The ratio that is good enough. */
  readonly target: number
  /** Pairs that count, after two that do not. Default 15. */
  readonly pairs?: number
  /** What one run does so many times; figures are per piece. Default 1. */
  readonly pieces?: number
}

/** Times the two in turn, A B A B …, so that a machine that changes its speed changes both. Medians; ratio of the medians. */
export async function compare(options: CompareOptions): Promise<Figure> {
  const { name, ours, baseline, target, pairs = 15, pieces = 1 } = options
  const times = { ours: [] as number[], baseline: [] as number[] }
  for (let pair = -2; pair < pairs; pair++) {
    const first = await time(ours)
    const second = await time(baseline)
    if (pair < 0) continue
    times.ours.push(first / pieces)
    times.baseline.push(second / pieces)
  }
  return figure({ name, value: median(times.ours), baseline: median(times.baseline), target, unit: 'ms' })
}

export function figure(of: Omit<Figure, 'ratio'>): Figure {
  return { ...of, value: rounded(of.value), baseline: rounded(of.baseline), ratio: rounded(of.value / of.baseline) }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

/** Everything that can go goes. */
export function collectGarbage(): void {
  for (let i = 0; i < 4; i++) gc()
}

/** Used heap after everything that can go has gone. */
export function heapBytes(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

async function time(subject: Subject): Promise<number> {
  await subject.before?.()
  const startMs = performance.now()
  await subject.run()
  const elapsedMs = performance.now() - startMs
  await subject.after?.()
  return elapsedMs
}

function rounded(value: number): number {
  return Number(value.toPrecision(4))
}
