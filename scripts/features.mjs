// `npm run features`: writes the table of declared features into README.md. See scripts/features-table.ts.
import { runTypeScript, setupOrExit } from './setup.mjs'

await setupOrExit()
process.exitCode = await runTypeScript('scripts/features-table.ts', [])
