import { formatAmount } from './money.js'

/** A table of balances for people. */
export function renderReport(balances) {
  const lines = balances.map(({ account, income, spending, total }) =>
    [account.padEnd(12), ...[income, spending, total].map((cents) => formatAmount(cents).padStart(12))].join(''),
  )
  return ['account           income    spending       total', ...lines].join('\n')
}
