// `npm run demo`: the main job, end to end. See examples/demo/main.ts, or `npm run demo -- --help`.
import { runTypeScript, setupOrExit } from './setup.mjs'

await setupOrExit()
process.exitCode = await runTypeScript('examples/demo/main.ts', process.argv.slice(2))
