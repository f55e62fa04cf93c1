import { scriptedModel } from './model.js'
import type { Decision, Model } from './model.js'

/** A task for the agent, and the script that stands in for a model's answers. */
export interface DemoTask {
  readonly title: string
  readonly task: string
  readonly model: () => Model
}

const runTests = (why: string): Decision => ({ tool: 'exec_command', input: { command: 'node --test test/' }, why })
const patch = (why: string, lines: readonly string[]): Decision => ({
  tool: 'apply_patch',
  input: { patch: ['*** Begin Patch', ...lines, '*** End Patch'].join('\n') },
  why,
})

const fix: readonly Decision[] = [
  { tool: 'read_file', input: { path: 'AGENTS.md' }, why: 'read how to work here' },
  runTests('see which tests fail'),
  { tool: 'grep', input: { pattern: 'quoted', glob: 'src/**' }, why: 'find where quotes are handled' },
  { tool: 'read_file', input: { path: 'src/csv.js' }, why: 'read the parser' },
  patch('a doubled quote inside quotes is one quote', [
    '*** Update File: src/csv.js',
    '@@',
    '     if (quoted) {',
    `-      if (character === '"') quoted = false`,
    `-      else field += character`,
    `+      if (character === '"' && text[i + 1] === '"') field += text[i++]`,
    `+      else if (character === '"') quoted = false`,
    `+      else field += character`,
  ]),
  runTests('see whether they pass now'),
  { done: true, why: 'the parser reads doubled quotes; all tests pass' },
]

const sinceTest: Decision = patch('say what is wanted, as a test', [
  '*** Update File: test/ledger.test.js',
  '@@',
  `+test('leaves out what is older than a date', () => {`,
  `+  const recent = since(readTransactions(march), '2026-03-05')`,
  `+  assert.deepEqual(balances(recent).map(({ account, total }) => [account, total]), [`,
  `+    ['checking', -26840],`,
  `+    ['savings', 25000],`,
  `+  ])`,
  `+})`,
  `+`,
  ` test('adds up by account', () => {`,
])

const feature: readonly Decision[] = [
  { tool: 'read_file', input: { path: 'src/ledger.js' }, why: 'read where transactions are filtered' },
  sinceTest,
  {
    tool: 'exec_command',
    input: { command: 'sleep 600', background: true },
    why: 'leave something running, as agents do',
  },
]

const finish: readonly Decision[] = [
  {
    tool: 'grep',
    input: { pattern: 'leaves out what is older', glob: 'test/**' },
    why: 'see how far the last worker came',
  },
  {
    tool: 'edit_file',
    input: {
      path: 'test/ledger.test.js',
      old_text: `import { balances, readTransactions } from`,
      new_text: `import { balances, readTransactions, since } from`,
    },
    why: 'the new test needs its import',
  },
  patch('add the filter', [
    '*** Update File: src/ledger.js',
    '@@',
    '+/** Transactions of that day (YYYY-MM-DD) and later. */',
    '+export function since(transactions, date) {',
    '+  return transactions.filter((transaction) => transaction.date >= date)',
    '+}',
    '+',
    " /** What came in, what went out and what is left, by account, in order of the accounts' names. */",
    ' export function balances(transactions) {',
  ]),
  runTests('see whether all tests pass'),
  { done: true, why: 'reports can begin at a date; all tests pass' },
]

export type TaskName = 'fix' | 'feature' | 'finish'

export const TASKS: Readonly<Record<TaskName, DemoTask>> = {
  fix: {
    title: 'task 1: fix the failing tests',
    task: 'The tests of this project fail. Find out why and fix it.',
    model: () => scriptedModel('engineer', fix),
  },
  feature: {
    title: 'task 2: a report from a date on',
    task: 'Add since(transactions, date) to the ledger, with a test.',
    model: () => scriptedModel('engineer', feature),
  },
  finish: {
    title: 'task 2, taken up again by another worker',
    task: 'Add since(transactions, date) to the ledger, with a test. Another worker has begun.',
    model: () => scriptedModel('engineer', finish),
  },
}
