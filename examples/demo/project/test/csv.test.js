import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCsv } from '../src/csv.js'

test('splits lines and fields', () => {
  assert.deepEqual(parseCsv('a,b\n1,2\n'), [
    ['a', 'b'],
    ['1', '2'],
  ])
})

test('keeps commas and line ends inside quotes', () => {
  assert.deepEqual(parseCsv('"a,b","c\nd"\n'), [['a,b', 'c\nd']])
})

test('reads a doubled quote as one', () => {
  assert.deepEqual(parseCsv('"The ""Rainy Day"" fund",1\n'), [['The "Rainy Day" fund', '1']])
})

test('needs no line end at the end', () => {
  assert.deepEqual(parseCsv('a,b'), [['a', 'b']])
})
