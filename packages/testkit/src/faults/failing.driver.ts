import { failpoint } from '@cofferdam/core/plugin'

/** Passes `first` once and `second` three times, and says so. */
process.stdout.write('before\n')
failpoint('first')
for (let pass = 1; pass <= 3; pass++) {
  process.stdout.write(`pass ${pass}\n`)
  failpoint('second')
}
process.stdout.write('after\n')
process.exitCode = 5
