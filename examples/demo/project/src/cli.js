import { readFileSync } from 'node:fs'
import { balances, readTransactions } from './ledger.js'
import { renderReport } from './report.js'

const [file] = process.argv.slice(2)
if (file === undefined) {
  console.error('usage: node src/cli.js FILE.csv')
  process.exit(2)
}
console.log(renderReport(balances(readTransactions(readFileSync(file, 'utf8')))))
