import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatAmount, parseAmount } from '../src/money.js'

test('reads amounts as cents', () => {
  assert.equal(parseAmount('1,234.50'), 123450)
  assert.equal(parseAmount('-3.5'), -350)
  assert.equal(parseAmount('0'), 0)
})

test('refuses what is no amount', () => {
  assert.throws(() => parseAmount('12.345'), /not an amount/)
})

test('writes what it reads', () => {
  for (const text of ['0.00', '0.07', '-18.40', '1,234,567.89']) assert.equal(formatAmount(parseAmount(text)), text)
})
