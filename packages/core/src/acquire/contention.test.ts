import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { localBackend } from '@cofferdam/backend-local'
import { createHost } from '@cofferdam/core'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { bundleDriver } from '../../test/bundle-driver.js'
import type { ContentionJob } from './contention.driver.js'

const program = await bundleDriver(new URL('contention.driver.ts', import.meta.url))
const SEED = Number(process.env['COFFERDAM_SEED'] ?? 20_261_122)
const PROCESSES = 8
const TURNS = Number(process.env['COFFERDAM_TURNS'] ?? 8)

let folder: string
const children = new Set<ReturnType<typeof spawn>>()

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cofferdam-contention-'))
})
afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

/** One process after another under one name until all turns are played; some are killed on their way. */
async function player(name: string, random: (below: number) => number): Promise<number> {
  let kills = 0
  const committed = (): number => progress('committed').filter((line) => line.startsWith(`${name}-`)).length
  while (committed() < TURNS) {
    const afterRelease = random(4) === 0 ? 'destroy' : 'park'
    const job: ContentionJob = { folder, name, turns: TURNS - committed(), afterRelease }
    const child = spawn(process.execPath, [program, JSON.stringify(job)], { stdio: ['ignore', 'pipe', 'pipe'] })
    children.add(child)
    let complaint = ''
    child.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()))
    // The moment is random on purpose; two kills per player at most, so that the whole has an end.
    const delayMs = kills < 2 ? 50 + random(1_500) : undefined
    let timer: NodeJS.Timeout | undefined
    child.stdout.once('data', () => {
      if (delayMs !== undefined) timer = setTimeout(() => child.kill('SIGKILL'), delayMs)
    })
    const signal = await new Promise<string | number | null>((resolve) => {
      child.on('close', (code, by) => resolve(by ?? code))
    })
    clearTimeout(timer)
    children.delete(child)
    if (signal === 'SIGKILL') kills += 1
    else if (signal !== 0) throw new Error(`${name} ended with ${String(signal)}: ${complaint}`)
  }
  return kills
}

function progress(what: string): string[] {
  let text = ''
  try {
    text = readFileSync(join(folder, 'progress'), 'utf8')
  } catch {
    // Nobody has begun.
  }
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${what} `))
    .map((line) => line.slice(what.length + 1))
}

it.runIf(process.platform === 'linux')(
  `loses and overlaps no turn of ${PROCESSES} processes on one slot (${TURNS} turns each, random kills, seed ${SEED})`,
  { timeout: 180_000 },
  async () => {
    let state = SEED
    const random = (below: number): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return Math.floor((state / 2 ** 32) * below)
    }
    const kills = await Promise.all(Array.from({ length: PROCESSES }, (_, index) => player(`p${index}`, random)))
    expect(
      kills.reduce((sum, each) => sum + each, 0),
      'some were killed',
    ).toBeGreaterThan(0)

    const logger = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }
    await using host = await createHost({
      plugins: [localBackend({ root: join(folder, 'sandboxes') })],
      baseDir: folder,
      dataDir: join(folder, 'data'),
      drainOnSignals: false,
      logger,
    })
    const session = await host.acquire({ scope: { session: 'contended' }, afterRelease: 'destroy' })
    const lines = (await session.files.readText('log.txt')).trimEnd().split('\n')
    await session.release()
    expect(lines.map((line) => Number(line.split(' ')[0]))).toEqual(lines.map((_, index) => index + 1))
    const turns = lines.map((line) => line.split(' ')[1] ?? '')
    expect(new Set(turns).size, 'every line once').toBe(turns.length)
    const begun = new Set(progress('begin'))
    for (const turn of turns) expect(begun, 'no line that nobody wrote').toContain(turn)
    const missing = progress('wrote').filter((turn) => !turns.includes(turn))
    expect(missing, 'what was written stays, committed or not: the sandbox of a dead holder lives on').toEqual([])
    expect((await host.reap({ graceMs: 0 })).failures).toEqual([])
    const left = readdirSync(join(folder, 'sandboxes'), { recursive: true }).map(String)
    expect(left.filter((path) => /(^|\/)workspace$/.test(path))).toEqual([])
  },
)
