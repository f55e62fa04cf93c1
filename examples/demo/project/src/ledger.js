import { parseCsv } from './csv.js'
import { parseAmount } from './money.js'

/** Transactions of a bank export with the columns date, account, text, amount. */
export function readTransactions(csv) {
  const [header, ...rows] = parseCsv(csv)
  const column = (name) => header.indexOf(name)
  return rows.map((row) => ({
    date: row[column('date')],
    account: row[column('account')],
    text: row[column('text')],
    cents: parseAmount(row[column('amount')]),
  }))
}

/** What came in, what went out and what is left, by account, in order of the accounts' names. */
export function balances(transactions) {
  const accounts = new Map()
  for (const { account, cents } of transactions) {
    const balance = accounts.get(account) ?? { account, income: 0, spending: 0, total: 0 }
    if (cents >= 0) balance.income += cents
    else balance.spending -= cents
    balance.total += cents
    accounts.set(account, balance)
  }
  return [...accounts.values()].sort((a, b) => (a.account < b.account ? -1 : 1))
}
