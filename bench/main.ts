/** `npm run bench -- local [--json] [--only TEXT]`: what Cofferdam costs next to the plainest way to do the same. */
import { parseArgs } from 'node:util'
import { local } from './local/local.js'
import type { Benchmark } from './benchmark.js'
import type { Figure } from './measure.js'

const SUITES: Readonly<Record<string, readonly Benchmark[]>> = { local }

const HELP = `usage: npm run bench -- SUITE [options]

Measures a suite and, in the same run and in turn, its baseline. ratio = value / baseline; good when ratio ≤ target.
Suites: ${Object.keys(SUITES).join(', ')}

  --json       one JSON object a line: name, value, baseline, ratio, target, unit
  --only TEXT  only benchmarks whose name contains TEXT
  --help       this text`

async function main(): Promise<number> {
  let parsed: ReturnType<typeof readArguments>
  try {
    parsed = readArguments()
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}\n`)
    return 2
  }
  const { values, positionals } = parsed
  const benchmarks = SUITES[positionals[0] ?? '']
  if (values.help || benchmarks === undefined) {
    const problem = positionals[0] === undefined ? '' : `there is no suite ${positionals[0]}\n\n`
    process[values.help ? 'stdout' : 'stderr'].write(`${values.help ? '' : problem}${HELP}\n`)
    return values.help ? 0 : 2
  }
  let missed = 0
  for (const benchmark of benchmarks) {
    if (values.only !== undefined && !benchmark.name.includes(values.only)) continue
    process.stderr.write(`measuring ${benchmark.name} …\n`)
    for (const figure of await benchmark.measure()) {
      if (figure.ratio > figure.target) missed++
      process.stdout.write(`${values.json ? JSON.stringify(figure) : describe(figure)}\n`)
    }
  }
  if (!values.json) process.stdout.write(missed === 0 ? 'all within target\n' : `${missed} over target\n`)
  return 0
}

function readArguments() {
  return parseArgs({
    allowPositionals: true,
    options: {
      json: { type: 'boolean', default: false },
      only: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
}

function describe({ name, value, baseline, ratio, target, unit }: Figure): string {
  const verdict = ratio <= target ? 'ok  ' : 'OVER'
  return `${verdict} ${name.padEnd(44)} ${String(value).padStart(9)} ${unit} / ${String(baseline).padStart(9)} ${unit} = ${String(ratio).padStart(7)}  (target ${target})`
}

process.exitCode = await main()
