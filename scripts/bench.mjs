// `npm run bench -- local --json`: measurements against the plainest way to do the same. See bench/main.ts.
import { runTypeScript, setupOrExit } from './setup.mjs'

await setupOrExit()
process.exitCode = await runTypeScript('bench/main.ts', process.argv.slice(2))
