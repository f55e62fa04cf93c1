import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A temporary folder; `remove` leaves nothing. */
export interface TestFolder {
  readonly path: string
  remove(): void
}

export function createTestFolder(): TestFolder {
  const path = mkdtempSync(join(tmpdir(), 'cofferdam-bench-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** 2 000 files of 14 MB in 100 directories: text that compresses about as source code does. Always the same. */
export function writeProject(folder: string): void {
  for (let directory = 0; directory < 100; directory++) {
    const path = join(folder, `package-${directory % 10}`, `module-${directory}`)
    mkdirSync(path, { recursive: true })
    for (let file = 0; file < 20; file++)
      writeFileSync(join(path, `file-${file}.ts`), sourceLike(directory * 20 + file))
  }
}

function sourceLike(seed: number): string {
  const sizeBytes = 1_000 + ((seed * 7_919) % 12_000)
  const lines: string[] = []
  for (let size = 0, line = 0; size < sizeBytes; line++) {
    const word = createHash('sha256').update(`${seed}:${line}`).digest('hex')
    const text = `  const value${line} = compute(${word.slice(0, 12)}, options.${word.slice(12, 20)}) // line ${line}`
    lines.push(text)
    size += text.length + 1
  }
  return `${lines.join('\n')}\n`
}
