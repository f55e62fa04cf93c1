import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { balances, readTransactions } from '../src/ledger.js'

const march = readFileSync(new URL('../data/2026-03.csv', import.meta.url), 'utf8')

test('reads a bank export', () => {
  const transactions = readTransactions(march)
  assert.equal(transactions.length, 5)
  assert.equal(transactions[2].text, 'The "Rainy Day" fund, monthly')
})

test('adds up by account', () => {
  assert.deepEqual(balances(readTransactions(march)), [
    { account: 'checking', income: 320000, spending: 151840, total: 168160 },
    { account: 'savings', income: 25000, spending: 0, total: 25000 },
  ])
})
