import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const program = fileURLToPath(new URL('./main.ts', import.meta.url))
const loader = import.meta.resolve('tsx')

interface Run {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

function demo(...options: readonly string[]): Promise<Run> {
  const command = ['--conditions=@cofferdam/source', '--import', loader, program, ...options]
  return new Promise((resolve) => {
    execFile(process.execPath, command, { maxBuffer: 16 * 1024 * 1024 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr })
    })
  })
}

interface Line {
  readonly kind: string
  readonly branch?: string
  readonly text?: string
  readonly snapshot?: string | null
  readonly step?: { readonly tool: string; readonly ok: boolean; readonly summary: string }
}

describe('the demo', () => {
  it('mends a project, is killed, is taken over and finishes', { timeout: 120_000 }, async () => {
    const { code, stdout, stderr } = await demo('--json')
    expect(stderr.replace(/^cofferdam warning:.*\n/gm, '')).toBe('')
    expect(code).toBe(0)
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line)
    expect(lines.filter(({ kind }) => kind === 'ready').map(({ branch }) => branch)).toEqual(['cold', 'warm', 'warm'])
    const tests = lines.filter(({ step }) => step?.tool === 'exec_command' && / fail \d/.test(step.summary))
    expect(
      tests.map(({ step }) => / fail 0/.test(step?.summary ?? '')),
      stdout,
    ).toEqual([false, true, true])
    const steps = lines.flatMap(({ step }) => (step === undefined ? [] : [step]))
    expect(steps.filter(({ ok, summary }) => !ok && !/ fail [1-9]/.test(summary))).toEqual([])
    expect(lines.some(({ kind, text }) => kind === 'event' && /left behind/.test(text ?? ''))).toBe(true)
    expect(lines.filter(({ kind, snapshot }) => kind === 'released' && typeof snapshot === 'string')).toHaveLength(2)
    const diff = lines.find(({ kind }) => kind === 'diff')?.text ?? ''
    expect(diff).toMatch(/^\+.*text\[i \+ 1\] === '"'/m)
    expect(diff).toMatch(/^\+export function since/m)
    const folder = /records: (\/.*)\/data/.exec(stdout)?.[1]
    expect(folder === undefined || !existsSync(folder)).toBe(true)
  })

  it('explains itself, and what it does not know', async () => {
    expect(await demo('--help')).toMatchObject({ code: 0, stdout: expect.stringContaining('--keep') as string })
    const unknown = await demo('--backend', 'mainframe')
    expect(unknown.code).toBe(2)
    expect(unknown.stderr).toMatch(/there is no backend mainframe/)
    expect((await demo('--frobnicate')).code).toBe(2)
  })
})
