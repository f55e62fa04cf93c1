import { existsSync, readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'

/** The highest fence that a sandbox was started with, where every holder in every process sees it. */
export class FenceFile {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  highest(): bigint {
    return existsSync(this.#path) ? BigInt(readFileSync(this.#path, 'utf8')) : 0n
  }

  /** By rename: a reader sees the old number or the new one, never half of it. */
  async raise(fence: bigint): Promise<void> {
    await writeFile(`${this.#path}.new`, String(fence))
    await rename(`${this.#path}.new`, this.#path)
  }
}
