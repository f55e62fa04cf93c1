import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

/** The highest fence that a sandbox was started with, where every holder in every process sees it. */
export class FenceFile {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  highest(): bigint {
    return existsSync(this.#path) ? BigInt(readFileSync(this.#path, 'utf8')) : 0n
  }

  /** False when there is a higher one. By rename: a reader sees the old number or the new one, never half of it. */
  raise(fence: bigint): boolean {
    const highest = this.highest()
    if (fence <= highest) return fence === highest
    const draft = `${this.#path}.${process.pid}`
    writeFileSync(draft, String(fence))
    renameSync(draft, this.#path)
    return true
  }
}
