import { createHash } from 'node:crypto'
import { mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const folder = fileURLToPath(new URL('../../../node_modules/.cache/drivers/', import.meta.url))
const bundled = new Map<string, Promise<string>>()

/**
 * Makes one JavaScript file of a TypeScript driver and everything it imports from the workspace, and gives its path.
 * Programs that tests start by the hundred begin in a tenth of a second then, instead of more than one.
 */
export function bundleDriver(driver: URL): Promise<string> {
  const path = fileURLToPath(driver)
  const known = bundled.get(path) ?? bundle(path)
  bundled.set(path, known)
  return known
}

async function bundle(path: string): Promise<string> {
  mkdirSync(folder, { recursive: true })
  const name = `${createHash('sha256').update(path).digest('hex').slice(0, 12)}.mjs`
  const temporary = join(folder, `.${process.pid}-${name}`)
  await build({
    entryPoints: [path],
    outfile: temporary,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    conditions: ['@cofferdam/source'],
    external: ['@lydell/node-pty'],
    // tsyringe is CommonJS and asks for what it needs by require.
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
    logLevel: 'error',
  })
  // Several test files may bundle the same driver at once.
  renameSync(temporary, join(folder, name))
  return join(folder, name)
}
